package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// fromGit points the launch at the store at a ref: DIR-or-URL@REF.
func fromGit(launch *Launch, argument string, options Options) error {
	u, err := AddGit(launch.Spec, argument, options)
	if err != nil {
		return err
	}
	u.use(launch)
	return nil
}

var commitName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// AddGit brings the store at a ref into the cache through the user's own git.
// A ref may move, so it is looked up each time and the cache is kept by commit.
// From a remote no more is fetched than the one commit's trees and the few
// files that are read.
func AddGit(spec, argument string, options Options) (Upstream, error) {
	fault := func(format string, args ...any) error {
		return &Fault{Kind: "fetch", Spec: spec, What: fmt.Sprintf(format, args...)}
	}
	at := strings.LastIndexByte(argument, '@')
	if at <= 0 || at == len(argument)-1 {
		return Upstream{}, &UsageError{fmt.Sprintf("%q names no ref: write git:DIR-or-URL@REF", spec)}
	}
	from, ref := argument[:at], argument[at+1:]
	if strings.HasPrefix(from, "-") || strings.HasPrefix(ref, "-") {
		return Upstream{}, &UsageError{fmt.Sprintf("%q: neither the repository nor the ref may begin with a dash", spec)}
	}
	root, err := options.cacheDir()
	if err != nil {
		return Upstream{}, err
	}
	repository := from
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		if !strings.Contains(from, "://") && !strings.Contains(from, ":") {
			return Upstream{}, fault("there is no folder %s", from)
		}
		if u, ok := cached("git:"+from+"@"+ref, root); ok && commitName.MatchString(ref) {
			return u, nil // a commit does not move
		}
		if options.NoFetch {
			return Upstream{}, fault("it is not in the cache, where only commits can be; bring it with: diffstore upstream add %s", spec)
		}
		temporary, err := os.MkdirTemp("", "diffstore-git-")
		if err != nil {
			return Upstream{}, fault("%v", err)
		}
		defer os.RemoveAll(temporary)
		if err := fetchRef(temporary, from, ref); err != nil {
			return Upstream{}, fault("%v", err)
		}
		repository, ref = temporary, "FETCH_HEAD"
	}
	commit, err := git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		if _, bad := git(repository, "rev-parse", "--git-dir"); bad != nil {
			return Upstream{}, fault("%s is no git repository", from)
		}
		return Upstream{}, fault("%s has no ref %s", from, ref)
	}
	id := strings.TrimSpace(string(commit))
	if !commitName.MatchString(id) {
		return Upstream{}, fault("git names the commit %.60q", id)
	}
	// By commit, so that the cache holds what a moving ref was at each time.
	key := "git:" + from + "@" + id
	if u, ok := cached(key, root); ok {
		return u, nil
	}
	return keep(Upstream{Spec: key, Commit: id, From: from + "@" + argument[at+1:]}, gitFiles(repository, id), "vllm", root)
}

// fetchRef fetches one commit, without the files' contents where the remote
// can leave them out.
func fetchRef(into, from, ref string) error {
	for _, arguments := range [][]string{
		{"init", "--quiet", "--bare"},
		{"remote", "add", "origin", from},
		{"config", "remote.origin.promisor", "true"},
		{"config", "remote.origin.partialclonefilter", "blob:none"},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "--end-of-options", "origin", ref},
	} {
		if _, err := git(into, arguments...); err != nil {
			return fmt.Errorf("%s at %s cannot be fetched: %w", ref, from, err)
		}
	}
	return nil
}

// git runs the user's git in a repository; its error is the last line git said.
func git(dir string, arguments ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, arguments...)...)
	for _, variable := range os.Environ() {
		// In a git hook these name the repository that the hook runs for.
		if name, _, _ := strings.Cut(variable, "="); name != "GIT_DIR" && name != "GIT_WORK_TREE" && name != "GIT_INDEX_FILE" {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("git was not found; install it")
		}
		for _, line := range strings.Split(said.String(), "\n") {
			if strings.HasPrefix(line, "fatal: ") {
				return nil, errors.New(oneLine(strings.TrimPrefix(line, "fatal: ")))
			}
		}
		return nil, errors.New("git fails" + lastLine(said.String()))
	}
	return out.Bytes(), nil
}

func gitFiles(repository, commit string) files {
	return func(name string) ([]byte, bool) {
		data, err := git(repository, "cat-file", "blob", commit+":"+name)
		return data, err == nil && len(data) <= fileLimit
	}
}
