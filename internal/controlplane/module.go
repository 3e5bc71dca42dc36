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

// moduleFiles are the Go modules of the binaries: a folder for each version of Kubernetes, with a go.mod whose modules
// are all there and a go.sum that has the hash of each of them, so that a version is compiled from the same source
// everywhere; and beside them the programs, which are the same for all versions. The files end in .txt so that they are
// no modules of this repository.
//
//go:embed module
var moduleFiles embed.FS

// program is what a binary has in it: the name of its source in module, less its ending.
type program string

const (
	withoutControllers program = "apiserver"    // etcd and kube-apiserver
	withControllers    program = "controlplane" // and kube-controller-manager, which is a sixth more to compile

	inMemory          program = "testserver/program"                 // an API server with its objects in memory, which is kctrl's own
	inMemoryWithFakes program = "testserver/program/fakecontrollers" // with fakes of controllers and nodes, a sixth more to compile
)

// own reports whether a program is one of kctrl's, of its runtime.
func (p program) own() bool { return p == inMemory || p == inMemoryWithFakes }

// programs are those that have what opts start, the one to compile first. What has too much is as good when it is there.
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

// Versions are the minor versions of Kubernetes that Build compiles, such as 1.37, the newest first.
func Versions() []string {
	var all []string
	for _, release := range releases() {
		all = append(all, minor(release))
	}
	return all
}

// releases are the versions with their patches, such as v1.37.0, the newest first.
func releases() []string {
	entries, _ := fs.ReadDir(moduleFiles, "module") // it is part of this program
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

// minor is 1.37 of v1.37.0.
func minor(release string) string { return strings.TrimPrefix(semver.MajorMinor(release), "v") }

// release returns the version that a user names as 1.37, 1.37.0 or with a v before it. No name is that of the newest.
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

// ValidateVersion fails for a version of Kubernetes that is none of Versions.
func ValidateVersion(name string) error {
	_, err := release(name)
	return err
}

func unknownVersion(name, named string) error {
	d := &diagnostic.Error{
		Message: "no Kubernetes version " + diagnostic.Quote(name),
		Hint:    "kctrl compiles " + strings.Join(Versions(), ", "),
		Class:   diagnostic.ErrUsage,
	}
	all := releases()
	switch i := slices.IndexFunc(all, func(r string) bool { return semver.MajorMinor(r) == semver.MajorMinor(named) }); {
	case !semver.IsValid(named):
	case i >= 0:
		d.Hint = "of " + minor(all[i]) + " it compiles " + strings.TrimPrefix(all[i], "v") + ", which --kubernetes=" + minor(all[i]) + " names"
	case semver.Compare(named, all[0]) > 0:
		d.Hint += "; " + minor(all[0]) + " is the nearest"
	default:
		d.Hint += "; " + minor(all[len(all)-1]) + " is the nearest"
	}
	return d
}

// linkFlags tell a binary its version.
func linkFlags(release string) string {
	const in = "k8s.io/component-base/version."
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s", in, release, strings.TrimPrefix(minor(release), "1."))
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

// ownModule returns the part of kctrl's own module that has the runtime and the test server.
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

// writeModule writes a module into folder.
func writeModule(folder string, files []moduleFile) error {
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file.name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file.name), file.content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// moduleHash names a binary by everything that decides its content.
func moduleHash(goVersion, release string, files []moduleFile) string {
	h := sha256.New()
	fmt.Fprintln(h, goVersion, runtime.GOOS, runtime.GOARCH, linkFlags(release))
	for _, file := range files {
		fmt.Fprintln(h, file.name, len(file.content))
		h.Write(file.content)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
