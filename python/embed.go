// Package python carries the project's Python into the binary: the oracle
// server, the stores that it can hold without any installation, and the planted
// bugs that show whether a harness notices what it should.
//
// It hands out source text and edits of source text. Running Python, speaking
// to it and judging what it says belong to other rooms, and it imports nothing
// of ours.
package python

import "embed"

//go:embed oracle_server.py
var oracleServer string

//go:embed stores/*.py
var stores embed.FS

//go:embed mutants/*.txt
var mutants embed.FS

// storeFiles lists the stores in the order in which they are shown, the
// reference first.
var storeFiles = [...]struct{ name, file string }{
	{"main", "stores/main.py"},
	{"free-queue", "stores/free_queue.py"},
	{"front-rotation", "stores/front_rotation.py"},
	{"growing", "stores/growing.py"},
	{"release-0.33", "stores/release_0_33.py"},
}

// OracleServer is the source of the server that holds a store and reports what
// it shows: one file that needs nothing but a Python 3.9 or newer.
func OracleServer() string {
	return oracleServer
}

// StoreNames lists the names that Store knows, the reference first.
func StoreNames() []string {
	names := make([]string, len(storeFiles))
	for i, store := range storeFiles {
		names[i] = store.name
	}
	return names
}

// Store gives the source of an embedded store. Each stands alone and holds the
// classes BlockObjectStore, BlockObject and BlockObjectStoreError; ok is false
// for a name that StoreNames does not list.
func Store(name string) (source string, ok bool) {
	file := storeFile(name)
	if file == "" {
		return "", false
	}
	text, err := stores.ReadFile(file)
	return string(text), err == nil
}

func storeFile(name string) string {
	for _, store := range storeFiles {
		if store.name == name {
			return store.file
		}
	}
	return ""
}
