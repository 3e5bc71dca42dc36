package project

import (
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Build identifies a kctrl binary.
type Build struct {
	// Version is the version of the module, or "(devel)".
	Version string
	// Sum is the checksum of the module. It is empty if kctrl was not built from a downloaded module.
	Sum string
}

// Release returns the version if the build is a tagged release, and "" for other builds.
func (b Build) Release() string {
	if !semver.IsValid(b.Version) || module.IsPseudoVersion(b.Version) || semver.Build(b.Version) != "" {
		return ""
	}
	return b.Version
}

// Name returns the name of the build in PROJECT.
func (b Build) Name() string {
	if b.Version == "" || b.Version == "(devel)" {
		return "devel"
	}
	return b.Version
}

// Installable returns the version with which go install installs this kctrl, or "" for a development build.
func (b Build) Installable() string {
	if b.Release() != "" || b.Sum != "" && semver.IsValid(b.Version) {
		return b.Version
	}
	return ""
}

// DefaultRuntime returns Module if a project can require this kctrl's module, and Bundled otherwise.
func (b Build) DefaultRuntime() RuntimeMode {
	if b.Release() != "" && b.Sum != "" {
		return Module
	}
	return Bundled
}
