package controlplane

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// moduleFiles are the Go modules of the binaries. Each version of Kubernetes has a directory with a go.mod, and a
// go.sum with the hash of every module, so all builds use the same source. The programs next to these directories are
// the same for all versions. Because of the suffix .txt, the go command does not treat the files as modules of this
// repository.
//
//go:embed module
var moduleFiles embed.FS

// program identifies a binary by the name of its source in module, without the suffix.
type program string

const (
	withoutControllers program = "apiserver"    // etcd and kube-apiserver
	withControllers    program = "controlplane" // and kube-controller-manager, which makes compilation a sixth longer

	inMemory          program = "testserver/program"                 // kctrl's own API server, with its objects in memory
	inMemoryWithFakes program = "testserver/program/fakecontrollers" // and fake controllers and nodes
)

// own reports whether a program belongs to kctrl's own module.
func (p program) own() bool { return p == inMemory || p == inMemoryWithFakes }

// programs returns the programs that contain all parts that opts start. The first is the one to compile. The other
// programs contain more parts, and are used if they are already compiled.
func programs(opts Options) []program {
	switch {
	case opts.InMemory && opts.FakeControllers:
		return []program{inMemoryWithFakes}
	case opts.InMemory:
		return []program{inMemory, inMemoryWithFakes}
	case opts.ControllerManager:
		return []program{withControllers}
	}
	return []program{withoutControllers, withControllers}
}

// Versions returns the minor versions of Kubernetes that Build can compile, such as 1.37, the newest first.
func Versions() []string {
	var all []string
	for _, release := range releases() {
		all = append(all, minor(release))
	}
	return all
}

// releases returns the versions with their patch numbers, such as v1.37.0, the newest first.
func releases() []string {
	entries, _ := fs.ReadDir(moduleFiles, "module") // embedded, so it does not fail
	var all []string
	for _, entry := range entries {
		if entry.IsDir() {
			all = append(all, entry.Name())
		}
	}
	semver.Sort(all)
	slices.Reverse(all)
	return all
}

// minor returns 1.37 for v1.37.0.
func minor(release string) string { return strings.TrimPrefix(semver.MajorMinor(release), "v") }

// release returns the version that name means, such as 1.37, 1.37.0 or v1.37. An empty name means the newest version.
func release(name string) (string, error) {
	all := releases()
	if name == "" {
		return all[0], nil
	}
	named := "v" + strings.TrimPrefix(name, "v")
	for _, release := range all {
		if named == release || named == semver.MajorMinor(release) {
			return release, nil
		}
	}
	return "", unknownVersion(name, named)
}

// ValidateVersion returns an error if name is not one of Versions.
func ValidateVersion(name string) error {
	_, err := release(name)
	return err
}

func unknownVersion(name, named string) error {
	d := diagnostic.Usage("unknown Kubernetes version "+diagnostic.Quote(name),
		"kctrl compiles "+strings.Join(Versions(), ", "))
	all := releases()
	switch i := slices.IndexFunc(all, func(r string) bool { return semver.MajorMinor(r) == semver.MajorMinor(named) }); {
	case !semver.IsValid(named):
	case i >= 0:
		d.Hint = "use --kubernetes=" + minor(all[i]) + ", which is version " + strings.TrimPrefix(all[i], "v")
	case semver.Compare(named, all[0]) > 0:
		d.Hint += "; " + minor(all[0]) + " is nearest"
	default:
		d.Hint += "; " + minor(all[len(all)-1]) + " is nearest"
	}
	return d
}

// linkFlags returns the linker flags that set the version of a binary.
func linkFlags(release string) string {
	const in = "k8s.io/component-base/version."
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s", in, release,
		strings.TrimPrefix(minor(release), "1."))
}

// moduleFile is a file of the module of a binary.
type moduleFile struct {
	name    string
	content []byte
}

// module returns the files of the module of a program.
func module(release string, p program) ([]moduleFile, error) {
	if p.own() {
		return ownModule()
	}
	files := []moduleFile{{name: "go.mod"}, {name: "go.sum"}, {name: "main.go"}}
	sources := []string{path.Join(release, "go.mod"), path.Join(release, "go.sum"), string(p) + ".go"}
	for i := range files {
		content, err := moduleFiles.ReadFile("module/" + sources[i] + ".txt")
		if err != nil {
			return nil, err
		}
		files[i].content = content
	}
	return files, nil
}

// ownModule returns the files of kctrl's own module that contain the runtime and the test server.
func ownModule() ([]moduleFile, error) {
	var files []moduleFile
	err := fs.WalkDir(kctrl.Source, ".", func(name string, entry fs.DirEntry, err error) error {
		source := name != "LICENSE" && !strings.HasSuffix(name, "_test.go")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !source:
			return nil
		}
		content, err := kctrl.Source.ReadFile(name)
		files = append(files, moduleFile{name, content})
		return err
	})
	return files, err
}

// writeModule writes a module into dir.
func writeModule(dir string, files []moduleFile) error {
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file.name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file.name), file.content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// moduleHash returns a hash of all inputs of a binary.
func moduleHash(goVersion, release string, files []moduleFile) string {
	h := sha256.New()
	fmt.Fprintln(h, goVersion, runtime.GOOS, runtime.GOARCH, linkFlags(release))
	for _, file := range files {
		fmt.Fprintln(h, file.name, len(file.content))
		h.Write(file.content)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
