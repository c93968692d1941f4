package selfcheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// packageMark is the file that makes a folder a Python package.
const packageMark = "__init__.py"

// mirror builds, below root, the packages that the file at path lies in, with the
// file's own text exchanged and links to everything beside it, and gives the
// file's place there.
func mirror(path, source, root string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	top := filepath.Dir(path)
	for inPackage(top) {
		top = filepath.Dir(top)
	}
	inside, err := filepath.Rel(top, path)
	if err != nil {
		return "", err
	}
	// Beside a file that lies in no package nothing belongs to it.
	for folder := filepath.Dir(inside); folder != "."; folder = filepath.Dir(folder) {
		if err := link(filepath.Join(top, folder), filepath.Join(root, folder)); err != nil {
			return "", err
		}
	}
	place := filepath.Join(root, inside)
	if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return place, os.WriteFile(place, []byte(source), 0o600)
}

func inPackage(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, packageMark))
	return err == nil && filepath.Dir(folder) != folder
}

// link makes a folder of links to all that is in another, except what is there
// already. It is called from the innermost folder outwards.
func link(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
