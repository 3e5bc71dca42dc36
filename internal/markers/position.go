package markers

import (
	"errors"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// relative returns a position whose file name is relative to the project, with slashes. A file outside the project
// keeps its absolute name.
func relative(root string, pos token.Position) token.Position {
	if rel, err := filepath.Rel(root, pos.Filename); err == nil && filepath.IsLocal(rel) {
		pos.Filename = filepath.ToSlash(rel)
	}
	return pos
}

// at returns the position of a whole file.
func at(root, name string) token.Position { return relative(root, token.Position{Filename: name}) }

// parsePosition reads "file:line:col", "file:line" or "file", as the go command prints it. Anything else has no
// position.
func parsePosition(text string) token.Position {
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

// cutNumber splits a trailing ":number" off.
func cutNumber(text string) (before string, number int, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return text, 0, false
	}
	number, err := strconv.Atoi(text[i+1:])
	return text[:i], number, err == nil
}

// fileError says that a file or folder cannot be read.
func fileError(root, name string, err error) error {
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	return &diagnostic.Error{Pos: at(root, name), Message: "cannot read: " + oneLine(cause.Error()), Cause: err}
}

// oneLine keeps a message of another tool on one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), "; ")
}
