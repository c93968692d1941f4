package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Upstream is one real store kept in the cache: where it is from and which of
// its files is the store.
type Upstream struct {
	// Spec names it, as the user does.
	Spec string `json:"spec"`
	// Version is the release, Commit the commit of a git spec; one is empty.
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
	// From is the wheel's file name or the repository.
	From string `json:"from"`
	// Bytes is how much was downloaded for it; 0 where git does not say.
	Bytes int64 `json:"bytes"`
	// Store is the store's path inside Dir, SHA256 that file's hash.
	Store  string `json:"store"`
	SHA256 string `json:"sha256"`
	Class  string `json:"class"`
	// Files are all paths kept, the store's among them.
	Files []string `json:"files"`
	// Dir is the folder it lies in.
	Dir string `json:"-"`
}

// manifestName is the file that describes a cached store; it is written last,
// so that a folder without it is no store.
const manifestName = "upstream.json"

// CacheDir is where stores are kept: diffstore/upstream in the user's cache
// folder (XDG_CACHE_HOME where that is set).
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &Fault{Kind: "fetch", Spec: "cache", What: fmt.Sprintf("no cache folder: %v; set XDG_CACHE_HOME", err)}
	}
	return filepath.Join(dir, "diffstore", "upstream"), nil
}

func (o Options) cacheDir() (string, error) {
	if o.CacheDir != "" {
		return o.CacheDir, nil
	}
	return CacheDir()
}

// List gives the cached stores, sorted by spec.
func List(options Options) ([]Upstream, error) {
	root, err := options.cacheDir()
	if err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Upstream
	for _, folder := range folders {
		if found, ok := readManifest(filepath.Join(root, folder.Name())); ok {
			list = append(list, found)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Spec < list[j].Spec })
	return list, nil
}

// Remove takes a store out of the cache. It reports whether it was there.
func Remove(spec string, options Options) (bool, error) {
	root, err := options.cacheDir()
	if err != nil {
		return false, err
	}
	dir := filepath.Join(root, folderOf(spec))
	if _, ok := readManifest(dir); !ok {
		return false, nil
	}
	return true, os.RemoveAll(dir)
}

var unsafeInName = regexp.MustCompile(`[^A-Za-z0-9.+=_-]+`)

// folderOf is the folder name of a spec; the hash keeps specs apart whose
// readable parts are alike.
func folderOf(spec string) string {
	sum := sha256.Sum256([]byte(spec))
	name := unsafeInName.ReplaceAllString(spec, "_")
	if len(name) > 60 {
		name = name[:60]
	}
	return name + "-" + hex.EncodeToString(sum[:4])
}

func readManifest(dir string) (Upstream, bool) {
	var u Upstream
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil || json.Unmarshal(data, &u) != nil || u.Store == "" {
		return u, false
	}
	u.Dir = dir
	return u, true
}

// cached gives the store of a spec from the cache, checked against its hash.
func cached(spec, root string) (Upstream, bool) {
	u, ok := readManifest(filepath.Join(root, folderOf(spec)))
	if !ok {
		return u, false
	}
	data, err := os.ReadFile(filepath.Join(u.Dir, filepath.FromSlash(u.Store)))
	return u, err == nil && hash(data) == u.SHA256
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// files reads files of a fetched tree by slash path; ok is false where there is none.
type files func(path string) (data []byte, ok bool)

// keep finds the store in a tree and puts it, with the files of the same tree
// that it imports, into the cache.
func keep(u Upstream, tree files, top, root string) (Upstream, error) {
	for _, candidate := range storePaths {
		name := path.Join(top, candidate)
		data, ok := tree(name)
		if !ok {
			continue
		}
		u.Store, u.SHA256, u.Class = name, hash(data), storeClass(data)
		return u, write(&u, withImports(tree, name), root)
	}
	return u, &Fault{Kind: "import", Spec: u.Spec, What: fmt.Sprintf("%s holds no %s; the store came with vLLM 0.31", u.From, strings.Join(storePaths, " or "))}
}

var classLine = regexp.MustCompile(`(?m)^class (BlockObjectStore|ShmBlockObjectStore|InProcessArtifactStore)\b`)

func storeClass(source []byte) string {
	if m := classLine.FindSubmatch(source); m != nil {
		return string(m[1])
	}
	return ""
}

// importLine matches a top-level import: the module, and the names taken from it,
// each of which may be a module of its own.
var importLine = regexp.MustCompile(`(?m)^(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n(]*)))?`)

var importedName = regexp.MustCompile(`\w+`)

// withImports collects a file and, from file to file, those of its tree that it
// imports at the top level, with the __init__ files that make the folders packages.
func withImports(tree files, name string) map[string][]byte {
	kept := map[string][]byte{}
	var add func(name string)
	add = func(name string) {
		data, ok := tree(name)
		if _, done := kept[name]; done || !ok {
			return
		}
		kept[name] = data
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := tree(dir + "/__init__.py"); ok {
				kept[dir+"/__init__.py"] = nil // marks a package; its code is never run
			}
		}
		for _, m := range importLine.FindAllSubmatch(data, -1) {
			module := string(m[1])
			if strings.HasPrefix(module, ".") {
				up := len(module) - len(strings.TrimLeft(module, "."))
				dir := name
				for range up {
					dir = path.Dir(dir)
				}
				module = strings.TrimRight(strings.ReplaceAll(dir, "/", ".")+"."+strings.TrimLeft(module, "."), ".")
			}
			if top, _, _ := strings.Cut(name, "/"); strings.HasPrefix(module, top+".") && module != top+".logger" {
				file := strings.ReplaceAll(module, ".", "/")
				add(file + ".py")
				for _, word := range importedName.FindAllString(string(m[2])+" "+string(m[3]), -1) {
					add(file + "/" + word + ".py")
				}
			}
		}
	}
	add(name)
	return kept
}

// write puts the files and then the manifest into the cache, by way of a
// folder beside it, so that no half store is ever seen.
func write(u *Upstream, files map[string][]byte, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return &Fault{Kind: "fetch", Spec: u.Spec, What: fmt.Sprintf("the cache cannot be written: %v", err)}
	}
	temporary, err := os.MkdirTemp(root, ".adding-")
	if err != nil {
		return &Fault{Kind: "fetch", Spec: u.Spec, What: fmt.Sprintf("the cache cannot be written: %v", err)}
	}
	defer os.RemoveAll(temporary)
	for name := range files {
		u.Files = append(u.Files, name)
	}
	sort.Strings(u.Files)
	manifest, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return err
	}
	files[manifestName] = append(manifest, '\n')
	for name, data := range files {
		to := filepath.Join(temporary, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	u.Dir = filepath.Join(root, folderOf(u.Spec))
	if err := os.RemoveAll(u.Dir); err != nil {
		return err
	}
	return os.Rename(temporary, u.Dir)
}

// use points a launch at a cached store.
func (u *Upstream) use(launch *Launch) {
	launch.Version, launch.Commit = u.Version, u.Commit
	launch.Path = u.From + ":" + u.Store
	launch.Config.Path = filepath.Join(u.Dir, filepath.FromSlash(u.Store))
}

// Add brings the store that a spec of the wheel or git form names into the cache.
func Add(spec string, options Options) (Upstream, error) {
	if argument, isGit := strings.CutPrefix(spec, "git:"); isGit {
		return AddGit(spec, argument, options)
	}
	if !wheelSpec.MatchString(spec) {
		return Upstream{}, &UsageError{fmt.Sprintf("%q cannot be added; write vllm==VERSION or git:DIR-or-URL@REF", spec)}
	}
	interpreter, err := findPython(options.Python)
	if err != nil {
		return Upstream{}, err
	}
	return AddWheel(spec, interpreter, options)
}
