package controlplane

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// assetsVariable names a folder with etcd and kube-apiserver binaries to use instead of building them.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Assets are the binaries of a control plane: either the multi-call binary that [Build] makes, or a folder of single
// ones.
type Assets struct {
	multiCall binary
	folder    string
}

// givenAssets returns the assets that the environment names, if it does.
func givenAssets(opts Options) (Assets, bool, error) {
	folder := os.Getenv(assetsVariable)
	if folder == "" {
		return Assets{}, false, nil
	}
	if opts.Kubernetes != "" {
		return Assets{}, true, &diagnostic.Error{
			Message: assetsVariable + "=" + folder + " has the version of Kubernetes that it has, and " + opts.Kubernetes + " was asked for",
			Hint:    "leave out --kubernetes, or unset " + assetsVariable + " to use the control plane that kctrl builds",
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return Assets{}, true, &diagnostic.Error{
				Message: assetsVariable + "=" + folder + " has no " + name,
				Hint:    "unset " + assetsVariable + " to use the control plane that kctrl builds",
				Cause:   err,
			}
		}
	}
	return Assets{folder: folder}, true, nil
}

// Host runs the program of the API server in memory as a host of isolated servers, which reads its requests from standard
// input until that ends. On Linux and macOS the program takes the place of this process.
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
		if _, err := os.Stat(filepath.Join(a.folder, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, &diagnostic.Error{
				Message: assetsVariable + "=" + a.folder + " has no " + name,
				Hint:    "leave out --controller-manager, or unset " + assetsVariable,
			}
		}
	}
	return a.command(name, flags), nil
}

func (a Assets) command(name string, flags []string) []string {
	if a.multiCall != "" {
		return append([]string{string(a.multiCall), name}, flags...)
	}
	return append([]string{filepath.Join(a.folder, name)}, flags...)
}

// discardDamaged fails when the binary is not what was compiled, and removes it, so that the next Build compiles it again. It
// reads all of the binary, so it is for those that could not start.
func (a Assets) discardDamaged() error {
	if a.multiCall == "" {
		return nil
	}
	damage := a.multiCall.verify()
	if damage == nil {
		return nil
	}
	d := &diagnostic.Error{Message: damage.Error(), Hint: "run the command again, which compiles it again", Cause: damage}
	if err := os.Remove(string(a.multiCall)); err != nil {
		d.Hint = "remove " + string(a.multiCall) + ", and run the command again, which compiles it again"
	}
	return d
}

// binary is the path of a binary in the cache. The file beside it, with .sum, has its size and its SHA-256; those that older
// versions of kctrl have compiled have none, and are taken for good.
type binary string

func (b binary) sumPath() string { return string(b) + ".sum" }

// check fails with fs.ErrNotExist when there is no binary, and with something else when what is there cannot be it, as after
// a power failure. It is quick.
func (b binary) check() error {
	info, err := os.Stat(string(b))
	if err != nil {
		return err
	}
	size, _, err := b.sum()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return b.damaged(err.Error())
	case info.Size() != size:
		return b.damaged(fmt.Sprintf("it has %d bytes of %d", info.Size(), size))
	}
	return nil
}

// verify fails when the binary is not what was compiled.
func (b binary) verify() error {
	_, want, err := b.sum()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return b.damaged(err.Error())
	}
	_, got, err := sumOf(string(b))
	if err != nil {
		return b.damaged(err.Error())
	}
	if got != want {
		return b.damaged("its SHA-256 is not that of what was compiled")
	}
	return nil
}

func (b binary) damaged(how string) error {
	return fmt.Errorf("the compiled control plane %s is damaged: %s", string(b), how)
}

// sum returns what the binary should be.
func (b binary) sum() (size int64, hash string, err error) {
	text, err := os.ReadFile(b.sumPath())
	if err != nil {
		return 0, "", err
	}
	if _, err := fmt.Sscanf(string(text), "%d %64s", &size, &hash); err != nil {
		return 0, "", fmt.Errorf("%s: %w", b.sumPath(), err)
	}
	return size, hash, nil
}

// sumOf returns what a file is.
func sumOf(path string) (size int64, hash string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	h := sha256.New()
	size, err = io.Copy(h, file)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// install puts what was compiled into its place, with its sum, so that it is there whole or not at all, also when the power
// fails.
func (b binary) install(built string) error {
	size, hash, err := sumOf(built)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(string(b)), 0o700); err != nil {
		return err
	}
	if err := replaceFile(b.sumPath(), fmt.Appendf(nil, "%d %s\n", size, hash)); err != nil {
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

// inMemoryPrefix is what the folders of API servers in memory begin with. Each change of the runtime makes another one, so the cache
// has only those that were used last.
const (
	inMemoryPrefix = "inmemory-"
	inMemoryKept   = 6
)

// binary is where the binary of a program is, by the hash of its module.
func (p program) binary(cache, hash string) binary {
	switch p { // these are of the same module
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

// used notes that somebody uses a binary.
func (b binary) used() {
	now := time.Now()
	_ = os.Chtimes(string(b), now, now) // a cache that cannot be written is not pruned either
}

// prune removes API servers in memory that were used before all that are kept. What cannot be removed stays.
func (b binary) prune() {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(string(b))), inMemoryPrefix+"*", filepath.Base(string(b))))
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
