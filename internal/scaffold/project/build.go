package project

import (
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Build is what a kctrl binary knows of itself.
type Build struct {
	// Version is the version of the module, or "(devel)".
	Version string
	// Sum is the checksum of the module, empty when kctrl was not built from a downloaded module.
	Sum string
}

// Release returns the version if it is one that was tagged, and "" for a build from somewhere in between.
func (b Build) Release() string {
	if !semver.IsValid(b.Version) || module.IsPseudoVersion(b.Version) || semver.Build(b.Version) != "" {
		return ""
	}
	return b.Version
}

// Name returns what PROJECT says of the build.
func (b Build) Name() string {
	if b.Version == "" || b.Version == "(devel)" {
		return "devel"
	}
	return b.Version
}

// Installable returns the version under which go install finds this very kctrl, and "" for a development build.
func (b Build) Installable() string {
	if b.Release() != "" || b.Sum != "" && semver.IsValid(b.Version) {
		return b.Version
	}
	return ""
}

// DefaultRuntime is Module if the running kctrl is one that a project can require.
func (b Build) DefaultRuntime() RuntimeMode {
	if b.Release() != "" && b.Sum != "" {
		return Module
	}
	return Bundled
}
