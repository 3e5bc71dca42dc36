package controlplane

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// assetsVariable is the environment variable with a directory of etcd and kube-apiserver binaries. If it is set, kctrl
// uses these binaries instead of building them.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Assets are the binaries of a control plane: either the multi-call binary that [Build] compiles, or a directory with
// separate binaries.
type Assets struct {
	multiCall binary
	dir       string
}

// givenAssets returns the assets in the directory in KUBEBUILDER_ASSETS. The bool reports whether that variable is set.
func givenAssets(opts Options) (Assets, bool, error) {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		return Assets{}, false, nil
	}
	if opts.Kubernetes != "" {
		return Assets{}, true, diagnostic.New(assetsVariable+"="+dir+
			" has a fixed version of Kubernetes, so --kubernetes="+opts.Kubernetes+" cannot apply",
			"omit --kubernetes, or unset "+assetsVariable+" to use the control plane that kctrl builds")
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return Assets{}, true, diagnostic.Because(err, assetsVariable+"="+dir+" has no "+name,
				"unset "+assetsVariable+" to use the control plane that kctrl builds")
		}
	}
	return Assets{dir: dir}, true, nil
}

// Host runs the program of the in-memory API server as a host of isolated servers. It reads requests from standard
// input until standard input ends. On Linux and macOS the program replaces this process.
func (a Assets) Host(opts Options) error {
	program, flags := string(a.multiCall), []string{"-host"}
	if opts.FakeControllers {
		flags = append(flags, "-fake-controllers")
	}
	if err := replaceProcess(program, flags...); err != nil {
		return diagnostic.AtFile(program, "cannot run", err)
	}
	return nil
}

func (a Assets) etcd(flags ...string) []string      { return a.command("etcd", flags) }
func (a Assets) apiServer(flags ...string) []string { return a.command("kube-apiserver", flags) }

func (a Assets) inMemory(flags ...string) []string {
	return append([]string{string(a.multiCall)}, flags...)
}

func (a Assets) controllerManager(flags ...string) ([]string, error) {
	const name = "kube-controller-manager"
	if a.multiCall == "" {
		if _, err := os.Stat(filepath.Join(a.dir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, diagnostic.New(assetsVariable+"="+a.dir+" has no "+name,
				"omit --controller-manager, or unset "+assetsVariable)
		}
	}
	return a.command(name, flags), nil
}

func (a Assets) command(name string, flags []string) []string {
	if a.multiCall != "" {
		return append([]string{string(a.multiCall), name}, flags...)
	}
	return append([]string{filepath.Join(a.dir, name)}, flags...)
}

// binary is the path of a binary in the cache. A file at this path is complete, see install.
type binary string

func (b binary) exists() bool { return exists(string(b)) }

// install moves a compiled binary to its place in the cache. The move is atomic, even if the power fails.
func (b binary) install(built string) error {
	if err := os.MkdirAll(filepath.Dir(string(b)), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(built, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(built, string(b))
}

// inMemoryPrefix is the prefix of the directories of in-memory API servers. Each change of the runtime adds a
// directory, so the cache keeps only the inMemoryKept directories that were used last.
const (
	inMemoryPrefix = "inmemory-"
	inMemoryKept   = 6
)

// binary returns the path of the binary of a program. The hash is the hash of its module.
func (p program) binary(cache, hash string) binary {
	switch p { // the following programs are built from the same module
	case inMemory:
		hash = inMemoryPrefix + hash
	case inMemoryWithFakes:
		hash = inMemoryPrefix + "fakecontrollers-" + hash
	}
	return binary(filepath.Join(cache, hash, binaryName()))
}

func binaryName() string {
	if runtime.GOOS == "windows" {
		return "controlplane.exe"
	}
	return "controlplane"
}

// used records the time of the last use, for prune.
func (b binary) used() {
	now := time.Now()
	_ = os.Chtimes(string(b), now, now) // prune cannot change an unwritable cache either
}

// prune removes all in-memory API servers except the last used ones. It ignores errors.
func (b binary) prune() {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(string(b))), inMemoryPrefix+"*",
		filepath.Base(string(b))))
	lastUse := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(lastUse(b), lastUse(a)) })
	for _, path := range all[min(inMemoryKept, len(all)):] {
		_ = os.RemoveAll(filepath.Dir(path))
	}
}
