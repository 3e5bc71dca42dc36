package diagnostic

import (
	"cmp"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

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
		{"but go.work implicitly requires go", "run go work use to raise the version, or set GOWORK=off"},
		{"but go.work lists go", "run go work use to raise the version, or set GOWORK=off"},
		{"listed in go.work file", "correct the use line in go.work, or set GOWORK=off"},
		{"-mod=", "correct -mod in GOFLAGS"},
		{"directory not found", "use existing directories, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"chdir ", "use existing directories, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"must not be replaced", "set GOMODCACHE, or HOME, in the environment: the go command has no directory for modules"},
		{"in any of", "unset GO111MODULE: kctrl works on Go modules"},
		{"parsing $GOFLAGS", "correct GOFLAGS"},
		{"go.work requires go >=", "install that version of Go, or lower the version in go.work"},
		{"requires go >=", "install that version of Go, or lower the version in go.mod"},
	} {
		if strings.Contains(text, known.contains) {
			return known.hint
		}
	}
	return ""
}

// GoList returns the error for an error of packages.Load, which contains the output of the go command.
func GoList(err error) *Error {
	message, hint := GoProblem(GoOutput(err.Error()))
	return &Error{Message: "go list: " + message, Hint: cmp.Or(hint, "run go build ./... and repair what it reports"),
		Cause: err}
}

// toUpdate separates the problem from the command that fixes it in the output of the go command.
const toUpdate = "; to update it:"

// GoOutput returns the output of the go command in an error, from the line with the problem on. It omits a first line
// such as "go: errors parsing go.mod:", unless the next line is a command that the user should run.
func GoOutput(text string) string {
	if before, printed, ok := strings.Cut(text, "stderr: "); ok {
		text = cmp.Or(strings.TrimSpace(printed), strings.TrimSuffix(strings.TrimSpace(before), ":"))
	}
	if first, rest, more := strings.Cut(text, "\n"); more && strings.HasSuffix(first, ":") &&
		!strings.HasSuffix(first, toUpdate) {
		return rest
	}
	return text
}

// GoProblem returns the message and the hint for an error of the go command. The first line of the error contains the
// cause, and the other lines contain the chain of imports to it.
func GoProblem(text string) (message, hint string) {
	if strings.Contains(text, "does not contain main module") {
		return "no go.mod file: this is not a Go module", GoHint(text)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first, _, _ = strings.Cut(first, "; to add")
	first, _, _ = strings.Cut(first, toUpdate)
	return OneLine(strings.TrimSuffix(strings.TrimPrefix(first, "go: "), ":")), GoHint(text)
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

// ParsePosition reads "file:line:col", "file:line" or "file", as the go command prints it. It returns the
// zero position for any other text.
func ParsePosition(text string) token.Position {
	var pos token.Position
	name, last, numbered := cutNumber(text)
	if !numbered {
		if filepath.Ext(text) == ".go" {
			pos.Filename = text
		}
		return pos
	}
	pos.Line = last
	if before, line, ok := cutNumber(name); ok {
		name, pos.Line, pos.Column = before, line, last
	}
	pos.Filename = name
	return pos
}

// cutNumber removes a trailing ":number" from text and returns both parts.
func cutNumber(text string) (before string, number int, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return text, 0, false
	}
	number, err := strconv.Atoi(text[i+1:])
	return text[:i], number, err == nil
}
