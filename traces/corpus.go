package traces

import (
	"os"
	"path/filepath"
	"strings"
)

// Corpus lists the trace files of a folder, sorted by name: those that end in
// .jsonl or .jsonl.gz, not those of folders below it. The list may be empty.
func Corpus(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, systemError(dir, "list the folder", err)
	}
	var paths []string
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(strings.TrimSuffix(entry.Name(), ".gz"), ".jsonl") {
			continue
		}
		paths = append(paths, filepath.Join(dir, entry.Name()))
	}
	return paths, nil
}
