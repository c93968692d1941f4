package oracle

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/diff"
)

var strict = diff.Options{Strict: true}

// smallWheel makes a wheel by hand and gives its path.
func smallWheel(t *testing.T, contents map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vllm-0.99.0-cp38-abi3-manylinux1_x86_64.whl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, text := range contents {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// wheelContents is a wheel's tree with the embedded main as its store.
func wheelContents(t *testing.T) map[string]string {
	t.Helper()
	const home = "vllm/distributed/aux_output_connector/"
	ran := "raise RuntimeError('the package ran')\n"
	return map[string]string{
		"vllm/__init__.py": ran, "vllm/distributed/__init__.py": ran, home + "__init__.py": ran,
		"vllm/logger.py":      ran,
		home + "unrelated.py": ran,
		home + "numbers.py":   "NONE = -1\n",
		home + "helper.py":    "import vllm.distributed.aux_output_connector.numbers\n",
		home + "store.py": spoiled(t, atImport, atImport+"from vllm.logger import init_logger\nfrom vllm.distributed.aux_output_connector import helper\n",
			"NO_SLOT = -1", "NO_SLOT = helper.vllm.distributed.aux_output_connector.numbers.NONE"),
	}
}

// pip writes an interpreter whose pip brings the wheel and counts how often. It
// fails like pip when the wheel is gone, and until it is asked for another
// Python's wheel when the wheel's name says so.
func pip(t *testing.T, wheel string) (interpreter string, downloads func() int) {
	t.Helper()
	real := needPython(t)
	log := filepath.Join(t.TempDir(), "downloads")
	interpreter = script(t, `if [ "$1 $2 $3" != "-m pip download" ]; then exec "`+real+`" "$@"; fi
echo "$@" >> "`+log+`"
echo "Collecting `+"\x1b"+`[1mvllm"
while [ "$1" != --dest ]; do shift; done
if ! cp "`+wheel+`" "$2"; then
  echo "ERROR: No matching distribution found for vllm==0.99.0" >&2
  echo "a hint that is no error" >&2
  exit 1
fi
echo "Successfully downloaded vllm"
`)
	return interpreter, func() int {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

func TestWheelThroughTheCache(t *testing.T) {
	wheel := smallWheel(t, wheelContents(t))
	interpreter, downloads := pip(t, wheel)
	var said []string
	options := Options{Python: interpreter, CacheDir: filepath.Join(t.TempDir(), "cache"), Progress: func(line string) { said = append(said, line) }}
	const spec = "vllm==0.99.0"

	if list, err := List(options); err != nil || len(list) != 0 {
		t.Fatalf("the empty cache lists %v, error %v", list, err)
	}
	if there, err := Remove(spec, options); err != nil || there {
		t.Errorf("removed %v from the empty cache, error %v", there, err)
	}
	u, err := Add(spec, options)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(wheel)
	if err != nil {
		t.Fatal(err)
	}
	const home = "vllm/distributed/aux_output_connector/"
	wantFiles := "vllm/__init__.py vllm/distributed/__init__.py " + home + "__init__.py " + home + "helper.py " + home + "numbers.py " + home + "store.py"
	if u.Spec != spec || u.Version != "0.99.0" || u.Bytes != info.Size() || u.From != filepath.Base(wheel) || u.Class != "BlockObjectStore" ||
		u.Store != home+"store.py" || strings.Join(u.Files, " ") != wantFiles || u.SHA256 != hash([]byte(wheelContents(t)[home+"store.py"])) {
		t.Errorf("added %+v", u)
	}
	if got, want := strings.Join(said, "|"), "Collecting  [1mvllm|Successfully downloaded vllm"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}

	batch := generated("mixed", 20)
	runs, o := show(t, resolve(t, spec, options), Ask{}, batch)
	sameRuns(t, batch, modelled(t, "main", batch), runs, strict)
	id := o.Identity()
	if id.Version != "0.99.0" || id.SHA256 != u.SHA256 || id.Path != filepath.Base(wheel)+":"+home+"store.py" || id.Adapter != "order-with-slots without vllm.logger" {
		t.Errorf("identity %+v", id)
	}
	if downloads() != 1 {
		t.Errorf("%d downloads, want one", downloads())
	}

	// What was changed since is not used.
	kept := filepath.Join(u.Dir, filepath.FromSlash(u.Store))
	if err := os.WriteFile(kept, []byte("raise RuntimeError\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	offline := options
	offline.NoFetch = true
	_, err = Resolve(spec, offline)
	wantFault(t, err, "fetch", "it is not in the cache")
	if again, err := Add(spec, options); err != nil || again.SHA256 != u.SHA256 || downloads() != 2 {
		t.Errorf("added %+v, error %v, %d downloads", again, err, downloads())
	}
	if _, err := Resolve(spec, offline); err != nil {
		t.Errorf("from the cache: %v", err)
	}

	list, err := List(options)
	if err != nil || len(list) != 1 || list[0].Spec != spec {
		t.Errorf("the cache lists %v, error %v", list, err)
	}
	if there, err := Remove(spec, options); err != nil || !there {
		t.Errorf("removed %v, error %v", there, err)
	}
	if list, err := List(options); err != nil || len(list) != 0 {
		t.Errorf("the cache lists %v, error %v", list, err)
	}
}

func TestWheelsThatFail(t *testing.T) {
	const spec = "vllm==0.99.0"
	lacking := map[string]string{"vllm/__init__.py": "", "vllm/distributed/store.py": "x"}
	large := wheelContents(t)
	large["vllm/distributed/aux_output_connector/store.py"] = strings.Repeat("#", fileLimit+1)
	broken := filepath.Join(t.TempDir(), "vllm.whl")
	if err := os.WriteFile(broken, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		wheel, kind, says string
		downloads         int
	}{
		"no store":      {smallWheel(t, lacking), "import", "holds no distributed/aux_output_connector/store.py or ", 1},
		"too large":     {smallWheel(t, large), "import", "holds no distributed/", 1},
		"no archive":    {broken, "fetch", "vllm.whl is no wheel", 1},
		"no such wheel": {"/nonexistent.whl", "fetch", "pip download fails: ERROR: No matching distribution found for vllm==0.99.0", 2},
	} {
		t.Run(name, func(t *testing.T) {
			interpreter, downloads := pip(t, c.wheel)
			cache := t.TempDir()
			_, err := Resolve(spec, Options{Python: interpreter, CacheDir: cache})
			wantFault(t, err, c.kind, c.says)
			if downloads() != c.downloads {
				t.Errorf("%d downloads, want %d", downloads(), c.downloads)
			}
			if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
				t.Errorf("the cache holds %v, error %v", left, err)
			}
		})
	}
	silent := script(t, "exit 0\n")
	_, err := Resolve(spec, Options{Python: silent, CacheDir: t.TempDir()})
	wantFault(t, err, "fetch", "pip brought 0 wheels, expected one")
	file := writeFile(t, "file", "")
	interpreter, _ := pip(t, smallWheel(t, wheelContents(t)))
	_, err = Resolve(spec, Options{Python: interpreter, CacheDir: file})
	wantFault(t, err, "fetch", "the cache cannot be written")
}

// TestRealWheel fetches a release: over a hundred megabytes.
func TestRealWheel(t *testing.T) {
	if os.Getenv("DIFFSTORE_NETWORK") != "1" {
		t.Skip("needs the network: set DIFFSTORE_NETWORK=1")
	}
	options := Options{CacheDir: t.TempDir()}
	batch := generated("mixed", 200)
	launch := resolve(t, "vllm==0.32.0", options)
	runs, o := show(t, launch, Ask{}, batch)
	sameRuns(t, batch, modelled(t, "main", batch), runs, strict)
	list, err := List(options)
	if err != nil || len(list) != 1 || list[0].Bytes < 1<<20 {
		t.Errorf("the cache lists %v, error %v", list, err)
	}
	t.Logf("%+v", o.Identity())
}
