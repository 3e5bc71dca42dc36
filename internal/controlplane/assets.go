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

// discardDamaged removes the binary and returns an error if its content differs from the content of the compiled
// binary. The next Build then compiles it again. discardDamaged reads the whole binary, so it is called only after a
// binary failed to start.
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

// binary is the path of a binary in the cache. A file beside it, with the suffix .sum, contains its size and its
// SHA-256. Binaries from older versions of kctrl have no such file and are considered intact.
type binary string

func (b binary) sumPath() string { return string(b) + ".sum" }

// check returns fs.ErrNotExist if the binary does not exist, and another error if its size is wrong, for example after
// a power failure. It does not read the binary.
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

// verify returns an error if the content of the binary differs from the compiled one.
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
		return b.damaged("its SHA-256 differs from the recorded one")
	}
	return nil
}

func (b binary) damaged(how string) error {
	return fmt.Errorf("the compiled control plane %s is damaged: %s", string(b), how)
}

// sum returns the recorded size and SHA-256 of the binary.
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

// sumOf returns the size and the SHA-256 of a file.
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

// install moves a compiled binary to its place in the cache and writes its sum. The move is atomic, even if the power
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
