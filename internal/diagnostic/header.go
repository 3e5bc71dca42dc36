package diagnostic

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// CodeHeader returns an error if the text for the beginning of Go files is not a Go comment.
func CodeHeader(file, header string) error {
	_, err := parser.ParseFile(token.NewFileSet(), file, header+"\npackage p\n", parser.SkipObjectResolution)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		return &Error{
			Pos:     list[0].Pos,
			Message: "the text that Go files begin with is not a comment",
			Hint:    "write it between /* and */, or in lines that begin with //",
			Cause:   err,
		}
	}
	return err
}

// ManifestHeader returns an error if the text for the beginning of manifests contains anything but YAML comments. It
// ignores lines of a template, in double braces.
func ManifestHeader(file, header string) error {
	number := 0
	for line := range strings.Lines(header) {
		number++
		line = strings.TrimSpace(line)
		if line != "" && line != "---" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "{{") {
			return &Error{
				Pos:     token.Position{Filename: file, Line: number, Column: 1},
				Message: "the text that manifests begin with is not a comment",
				Hint:    "write it in lines that begin with #",
			}
		}
	}
	return nil
}
