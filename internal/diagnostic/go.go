package diagnostic

import "strings"

// GoHint returns the hint for an error of the go command, or "".
func GoHint(text string) string {
	for _, known := range []struct{ contains, hint string }{
		{"missing go.sum entry", "run go mod tidy"},
		{"no required module provides package", "run go mod tidy"},
		{"updates to go.mod needed", "run go mod tidy"},
		{"module lookup disabled", "run go mod download with access to the module proxy"},
		{"dial tcp", "run go mod download with access to the module proxy"},
		{"reading http", "run go mod download with a module proxy that has that version, or correct the version in go.mod"},
		{"inconsistent vendoring", "run go mod vendor"},
		{"vendor/modules.txt", "run go mod vendor"},
		{"import lookup disabled by -mod=vendor", "run go mod vendor"},
		{"import cycle", "move what both packages need to a third package"},
		{"is not in std", "correct the import path, or run go get for its module"},
		{"not one of the workspace modules", "run go work use ., or set GOWORK=off"},
		{"does not contain modules listed in go.work", "run go work use ., or set GOWORK=off"},
		{"does not contain main module", "run kctrl in the directory of a Go module, select it with -C, or create one with " +
			"go mod init"},
		{"but go.work lists go", "run go work use to raise the version, or set GOWORK=off"},
		{"listed in go.work file", "correct the use line in go.work, or set GOWORK=off"},
		{"-mod=", "correct -mod in GOFLAGS"},
		{"directory not found", "use existing directories, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"chdir ", "use existing directories, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"must not be replaced", "set GOMODCACHE, or HOME, in the environment: the go command has no directory for modules"},
		{"in any of", "unset GO111MODULE: kctrl works on Go modules"},
		{"parsing $GOFLAGS", "correct GOFLAGS"},
		{"requires go >=", "install that version of Go, or lower the version in go.mod"},
	} {
		if strings.Contains(text, known.contains) {
			return known.hint
		}
	}
	return ""
}

// MissingModule returns an error for a message of the go command about a package that no downloaded module provides,
// or nil for another message.
func MissingModule(text string) *Error {
	hint := GoHint(text)
	if hint == "" {
		return nil
	}
	text, _, _ = strings.Cut(text, " (imported by ")
	text, _, _ = strings.Cut(text, "; to add:")
	return &Error{Message: OneLine(text), Hint: hint}
}
