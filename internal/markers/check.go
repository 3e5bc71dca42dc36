package markers

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// marker is one marker as it stands in a file.
type marker struct {
	text string    // without the slashes, beginning with "+"
	pos  token.Pos // of the "+"
}

// parseMarker returns the marker in a comment, if it is one: a line comment that begins with "+".
func parseMarker(comment *ast.Comment) (marker, bool) {
	rest, ok := strings.CutPrefix(comment.Text, "//")
	text := strings.TrimSpace(rest)
	if !ok || !strings.HasPrefix(text, "+") {
		return marker{}, false
	}
	return marker{text: text, pos: comment.Pos() + token.Pos(strings.IndexByte(comment.Text, '+'))}, true
}

// markersIn returns all markers of a file, wherever they stand, in their order.
func markersIn(file *ast.File) []marker {
	var found []marker
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if m, ok := parseMarker(comment); ok {
				found = append(found, m)
			}
		}
	}
	return found
}

// unknownMarkers returns an error for each marker of a package that kctrl answers for and no generator knows.
func (p *Program) unknownMarkers(pkg *Package) []error {
	var errs []error
	for _, file := range pkg.Syntax {
		for _, m := range markersIn(file) {
			if !ours(m.text) || p.registry.known(m.text) || p.allowed(m.text) {
				continue
			}
			errs = append(errs, &diagnostic.Error{
				Pos:     relative(p.dir, p.fset.Position(m.pos)),
				Message: fmt.Sprintf("unknown marker %q", markerName(m.text)),
				Hint:    p.registry.correction(m.text),
			})
		}
	}
	return errs
}

// allowed reports whether the user wants an unknown marker to be left alone.
func (p *Program) allowed(text string) bool {
	return slices.ContainsFunc(p.allow, func(prefix string) bool {
		prefix = strings.TrimPrefix(prefix, "+")
		return prefix != "" && strings.HasPrefix(text[1:], prefix)
	})
}

// markerName returns a marker without its value.
func markerName(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return strings.TrimRight(name, ": ")
}
