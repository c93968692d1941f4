// Package python carries the project's Python into the binary: the oracle
// server, the stores that it can hold without any installation, and the planted
// bugs that show whether a harness notices what it should.
//
// It hands out source text and edits of source text. Running Python, speaking
// to it and judging what it says belong to other rooms, and it imports nothing
// of ours.
package python

import (
	"embed"
	"sync"
)

//go:embed oracle_server.py
var oracleServer string

//go:embed mutate.py
var mutator string

//go:embed stores/*.py
var stores embed.FS

//go:embed variants.txt
var variants string

//go:embed mutants/*.txt
var mutants embed.FS

// storeFiles lists the stores that are files, in the order in which they are
// shown, the reference first. The others are edits of these or of each other.
var storeFiles = [...]struct{ name, file string }{
	{"main", "stores/main.py"},
	{"free-queue", "stores/free_queue.py"},
}

// variantsFile is the name under which errors speak of the edited stores.
const variantsFile = "variants.txt"

// editedStores reads the stores that are another one with an idea of their own,
// in the format of the planted bugs.
var editedStores = sync.OnceValues(func() ([]Mutant, error) {
	// Each may edit the files and the stores that stand before it.
	p := newMutantParser("main", "free-queue", "growing")
	err := p.parse("", variantsFile, variants)
	return p.done, err
})

// OracleServer is the source of the server that holds a store and reports what
// it shows: one file that needs nothing but a Python 3.9 or newer.
func OracleServer() string {
	return oracleServer
}

// Mutator is the source of the script that makes the automatic mutants of a
// store file: one file that needs nothing but a Python 3.9 or newer.
func Mutator() string {
	return mutator
}

// StoreNames lists the names that Store knows, the reference first.
func StoreNames() []string {
	var names []string
	for _, store := range storeFiles {
		names = append(names, store.name)
	}
	edited, _ := editedStores() // a test holds the file right
	for _, store := range edited {
		names = append(names, store.Name)
	}
	return names
}

// Store gives the source of an embedded store. Each stands alone and holds the
// classes BlockObjectStore, BlockObject and BlockObjectStoreError; ok is false
// for a name that StoreNames does not list.
func Store(name string) (source string, ok bool) {
	for _, store := range storeFiles {
		if store.name == name {
			text, err := stores.ReadFile(store.file)
			return string(text), err == nil
		}
	}
	edited, err := editedStores()
	for _, store := range edited {
		if store.Name == name && err == nil {
			source, err = store.Apply()
			return source, err == nil
		}
	}
	return "", false
}
