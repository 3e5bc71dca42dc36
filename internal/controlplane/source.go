package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	kctrl "github.com/kctrl-dev/kctrl"
)

// DropIn is the directory of the module with controller-runtime's API, relative to the directory of [Source].
const DropIn = "compat/controller-runtime"

// Source writes the module of the runtime and the test server into the user's cache, and returns its directory. kctrl
// compiles programs with the simulator against this module. Concurrent calls write it once. If a call is interrupted,
// later calls do not use its files.
func Source(ctx context.Context) (dir string, err error) {
	cache, err := cacheDir("source")
	if err != nil {
		return "", err
	}
	files, err := ownModule()
	if err != nil {
		return "", err
	}
	dropIn, err := dropInModule()
	if err != nil {
		return "", err
	}
	files = append(files, dropIn...)
	hash := sha256.New()
	for _, file := range files {
		fmt.Fprintln(hash, file.name, len(file.content))
		hash.Write(file.content)
	}
	dir = filepath.Join(cache, hex.EncodeToString(hash.Sum(nil))[:16])
	unlock, err := lockFile(ctx, dir+".lock", func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	work := dir + ".new"
	if err := os.RemoveAll(work); err != nil {
		return "", unwritable(work, err)
	}
	if err := writeModule(work, files); err != nil {
		return "", unwritable(work, err)
	}
	if err := os.Rename(work, dir); err != nil {
		return "", unwritable(dir, err)
	}
	return dir, nil
}

// dropInModule returns the files of the module with controller-runtime's API.
func dropInModule() ([]moduleFile, error) {
	source, err := kctrl.ControllerRuntime()
	if err != nil {
		return nil, err
	}
	var files []moduleFile
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		files = append(files, moduleFile{path.Join(DropIn, name), content})
		return err
	})
	return files, err
}
