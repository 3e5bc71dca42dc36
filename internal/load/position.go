package load

import (
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

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
