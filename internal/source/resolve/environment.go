package resolve

import (
	"cmp"
	"errors"
	"go/build"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Environment is what the go command would work with: its settings and its folders. It does not change.
type Environment struct {
	// Root is GOROOT, and Version that of the toolchain in it, such as "go1.26.8".
	Root, Version string
	// ModuleCache is GOMODCACHE.
	ModuleCache string
	// Platform is GOOS/GOARCH.
	OS, Arch string

	settings map[string]string // of the go command, from its configuration files
	vendor   vendorMode
	// updates says that the go command would mend a go.mod in which versions are missing or too old.
	updates bool
	// listing says why only the go command finds packages, although it is known what it goes by; may be nil.
	listing error
}

// vendorMode is what GOFLAGS says of vendor folders.
type vendorMode int

const (
	vendorAuto vendorMode = iota
	vendorNever
	vendorAlways
)

// Settings are the variables that change what the go command finds.
var Settings = []string{
	"GO111MODULE", "GOARCH", "GOENV", "GOEXPERIMENT", "GOFIPS140", "GOFLAGS", "GOMODCACHE", "GOOS", "GOPATH", "GOROOT",
	"GOTOOLCHAIN", "GOWORK", "GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
	"GOPACKAGESDRIVER", "CGO_ENABLED",
}

// NewEnvironment reads the settings of the go command in PATH. An error is an [*UnusualError] and says that nobody but the
// go command knows what it goes by; the folders that could be found are returned all the same.
func NewEnvironment() (*Environment, error) {
	e := &Environment{settings: map[string]string{}}
	if file := userSettings(); file != "" {
		if err := e.readSettings(file); err != nil {
			return e, err
		}
	}
	e.OS, e.Arch = e.Get("GOOS"), e.Get("GOARCH")
	e.OS, e.Arch = cmp.Or(e.OS, runtime.GOOS), cmp.Or(e.Arch, runtime.GOARCH)
	e.ModuleCache = e.moduleCache()
	if err := e.findRoot(); err != nil {
		return e, err
	}
	return e, e.check()
}

// Get returns a setting of the go command, from the environment or its configuration files.
func (e *Environment) Get(name string) string { return cmp.Or(os.Getenv(name), e.settings[name]) }

// Immutable reports whether a file belongs to the Go toolchain or to the module cache, where files never change.
func (e *Environment) Immutable(name string) bool {
	return inside(e.Root, name) || inside(e.ModuleCache, name)
}

func inside(dir, name string) bool {
	return dir != "" && len(name) > len(dir) && name[len(dir)] == filepath.Separator && name[:len(dir)] == dir
}

// userSettings returns the file that "go env -w" writes, or "" if there is none.
func userSettings() string {
	switch file := os.Getenv("GOENV"); file {
	case "off":
		return ""
	case "":
		dir, err := os.UserConfigDir()
		if err != nil {
			return ""
		}
		return filepath.Join(dir, "go", "env")
	default:
		return file
	}
}

// readSettings adds the settings of a configuration file that are not set yet.
func (e *Environment) readSettings(file string) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusual("the settings of the go command cannot be read")
	}
	for line := range strings.Lines(string(content)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, known := e.settings[name]; ok && !known && !strings.HasPrefix(name, "#") {
			e.settings[name] = value
		}
	}
	return nil
}

func (e *Environment) moduleCache() string {
	if dir := e.Get("GOMODCACHE"); dir != "" {
		return filepath.Clean(dir)
	}
	list := filepath.SplitList(e.Get("GOPATH"))
	if len(list) > 0 && list[0] != "" {
		return filepath.Join(list[0], "pkg", "mod")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "go", "pkg", "mod")
}

// findRoot finds the toolchain of the go command in PATH.
func (e *Environment) findRoot() error {
	command, err := exec.LookPath("go")
	if err != nil {
		return unusual("there is no go command")
	}
	root := e.Get("GOROOT")
	if root == "" {
		if command, err = filepath.EvalSymlinks(command); err != nil {
			return unusual("the go command is a broken link")
		}
		root = filepath.Dir(filepath.Dir(command))
	}
	content, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return unusual("the go command in PATH is not in its GOROOT")
	}
	first, _, _ := strings.Cut(string(content), "\n")
	if first = strings.TrimSpace(first); !version.IsValid(first) {
		return unusual("the Go toolchain is not a release")
	}
	e.Root, e.Version = filepath.Clean(root), first
	return e.readSettings(filepath.Join(root, "go.env"))
}

// check refuses settings that only the go command understands.
func (e *Environment) check() error {
	if e.Get("GO111MODULE") == "off" {
		return unusual("GO111MODULE=off")
	}
	if value := e.Get("GOPACKAGESDRIVER"); value != "" && value != "off" {
		return unusual("GOPACKAGESDRIVER is set")
	} else if _, err := exec.LookPath("gopackagesdriver"); err == nil && value == "" {
		return unusual("there is a gopackagesdriver")
	}
	for _, name := range []string{"GOEXPERIMENT", "GOFIPS140"} {
		if value := e.Get(name); value != "" && value != "off" {
			e.listing = unusual(name + " is set")
		}
	}
	if toolchain := e.Get("GOTOOLCHAIN"); !slices.Contains([]string{"", "local", "auto", "path", e.Version}, toolchain) {
		return unusual("GOTOOLCHAIN=" + toolchain)
	}
	if !filepath.IsAbs(e.ModuleCache) {
		return unusual("there is no module cache")
	}
	return e.checkFlags()
}

func (e *Environment) checkFlags() error {
	for _, flag := range strings.Fields(e.Get("GOFLAGS")) {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "-"), "=")
		switch strings.TrimPrefix(name, "-") {
		case "buildvcs", "trimpath", "v", "x", "p", "race", "cover", "count", "ldflags", "gcflags", "asmflags", "tags", "buildmode", "timeout":
			// Tags on the command line, which the loader gives, replace those of GOFLAGS.
			if strings.ContainsAny(value, `'"`) {
				return unusual("quotes in GOFLAGS")
			}
		case "mod":
			switch value {
			case "readonly":
				e.vendor = vendorNever
			case "vendor":
				e.vendor = vendorAlways
			case "mod":
				e.vendor, e.updates = vendorNever, true
			default:
				return unusual("GOFLAGS=" + flag)
			}
		case "modcacherw":
			e.listing = unusual("GOFLAGS=" + flag)
		default:
			return unusual("GOFLAGS=" + flag)
		}
	}
	return nil
}

// context returns what build constraints are decided by.
func (e *Environment) context() build.Context {
	context := build.Default
	context.GOOS, context.GOARCH, context.GOROOT = e.OS, e.Arch, e.Root
	context.CgoEnabled = false
	context.Compiler = "gc"
	context.BuildTags = []string{"ignore_autogenerated"}
	context.ReleaseTags = releaseTags(e.Version)
	return context
}
