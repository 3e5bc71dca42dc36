package scaffold

import (
	"errors"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"go.yaml.in/yaml/v3"
)

// fileError says that something could not be done to a file, with a hint that fits the cause.
func fileError(path, what string, cause error) *diagnostic.Error {
	return diagnostic.AtFile(path, what, cause)
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlPosition returns where in a file the yaml package found its first problem. It tells the line only.
func yamlPosition(filename string, err error) token.Position {
	pos := token.Position{Filename: filename, Line: 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		pos.Line, _ = strconv.Atoi(m[1])
	}
	return pos
}

// yamlMessage returns the first problem that the yaml package found, on one line and without its prefixes.
func yamlMessage(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*yaml.TypeError](err); ok && len(e.Errors) > 0 {
		text = e.Errors[0]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if at := yamlLine.FindStringIndex(text); at != nil {
		text = text[:at[0]] + text[at[1]:]
	}
	return strings.ReplaceAll(text, "\n", "; ")
}
