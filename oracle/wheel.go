package oracle

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fromWheel points the launch at the store of a release's wheel, fetching it
// when the cache lacks it.
func fromWheel(launch *Launch, spec string, options Options) error {
	u, err := AddWheel(spec, launch.Command[0], options)
	if err != nil {
		return err
	}
	u.use(launch)
	return nil
}

// AddWheel brings the store of a release into the cache through the
// interpreter's own "pip download --no-deps" and keeps only the files needed.
func AddWheel(spec, interpreter string, options Options) (Upstream, error) {
	root, err := options.cacheDir()
	if err != nil {
		return Upstream{}, err
	}
	if u, ok := cached(spec, root); ok {
		return u, nil
	}
	fault := func(format string, args ...any) error {
		return &Fault{Kind: "fetch", Spec: spec, What: fmt.Sprintf(format, args...)}
	}
	if options.NoFetch {
		return Upstream{}, fault("it is not in the cache; bring it with: diffstore upstream add %s", spec)
	}
	temporary, err := os.MkdirTemp("", "diffstore-wheel-")
	if err != nil {
		return Upstream{}, fault("%v", err)
	}
	defer os.RemoveAll(temporary)
	wheel, err := download(spec, interpreter, temporary, options)
	if err != nil {
		return Upstream{}, fault("%v", err)
	}
	info, err := os.Stat(wheel)
	if err != nil {
		return Upstream{}, fault("%v", err)
	}
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return Upstream{}, fault("%s is no wheel: %v", filepath.Base(wheel), err)
	}
	defer archive.Close()
	_, version, _ := strings.Cut(spec, "==")
	return keep(Upstream{Spec: spec, Version: version, From: filepath.Base(wheel), Bytes: info.Size()}, zipFiles(&archive.Reader), "vllm", root)
}

// download runs pip and gives the wheel's path. A wheel made for another
// interpreter will do, since only text is read from it; so a refusal is followed
// by a try that names the interpreter most wheels are made for.
func download(spec, interpreter, into string, options Options) (string, error) {
	base := []string{"-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", into}
	var failure error
	for _, extra := range [][]string{nil, {"--python-version", "3.12"}} {
		failure = follow(exec.Command(interpreter, append(append(base[:len(base):len(base)], extra...), spec)...), options.Progress)
		if failure == nil {
			break
		}
	}
	if failure != nil {
		return "", fmt.Errorf("pip download fails: %w", failure)
	}
	wheels, err := filepath.Glob(filepath.Join(into, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("pip brought %d wheels, expected one", len(wheels))
	}
	return wheels[0], nil
}

// follow runs a command, hands on what it says and makes its last line the error.
func follow(cmd *exec.Cmd, progress func(line string)) error {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	last := ""
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		line := oneLine(lines.Text())
		if line == "" {
			continue
		}
		if progress != nil {
			progress(line)
		}
		if last == "" || strings.HasPrefix(line, "ERROR") || strings.HasPrefix(line, "fatal") || !strings.HasPrefix(last, "ERROR") && !strings.HasPrefix(last, "fatal") {
			last = line
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s", last)
	}
	return nil
}

// fileLimit bounds one source file taken from a wheel or a repository, in bytes.
const fileLimit = 4 << 20

func zipFiles(archive *zip.Reader) files {
	return func(name string) ([]byte, bool) {
		file, err := archive.Open(name)
		if err != nil {
			return nil, false
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
		return data, err == nil && len(data) <= fileLimit
	}
}
