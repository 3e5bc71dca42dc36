package markers

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// argumentErrors turns what the collector says about the arguments of markers into errors at the place of the argument.
// Of each marker it takes the first: the others follow from it.
func (p *Program) argumentErrors(err error) []error {
	var errs []error
	seen := map[token.Pos]bool{}
	for _, single := range flatten(err) {
		positioned, ok := errors.AsType[loader.PositionedError](single)
		if !ok {
			errs = append(errs, single)
			continue
		}
		if seen[positioned.Pos] {
			continue
		}
		seen[positioned.Pos] = true
		if m, found := p.markerAt(positioned.Pos); found {
			errs = append(errs, p.argumentError(m, positioned.Error()))
		}
	}
	return errs
}

// flatten takes the lists that controller-tools nests errors in apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	list, ok := errors.AsType[loader.ErrList](err)
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, single := range list {
		errs = append(errs, flatten(single)...)
	}
	return errs
}

var unknownArgument = regexp.MustCompile(`^unknown argument "(.*)"$`)

func (p *Program) argumentError(m marker, message string) error {
	definition := p.registry.definition(m.text)
	message, column := splitOffset(message)
	d := &diagnostic.Error{Message: fmt.Sprintf("+%s: %s", definition.Name, oneLine(message))}
	offset := 0
	if column > 0 && !strings.HasPrefix(message, "missing argument") {
		offset = argumentsOf(m.text, definition) + column - 1
	}
	if name := unknownArgument.FindStringSubmatch(message); name != nil {
		offset = max(0, strings.Index(m.text, name[1]+"="))
		d.Hint = argumentHint(definition, name[1])
	}
	if offset < len(m.text) {
		m.pos += token.Pos(offset)
	}
	d.Pos = relative(p.dir, p.fset.Position(m.pos))
	return d
}

// argumentsOf returns where in text, a marker, the arguments begin: behind "=", or, where they have names, behind the
// name of the marker.
func argumentsOf(text string, definition *markers.Definition) int {
	if named := len("+" + definition.Name + ":"); strings.HasPrefix(text, "+"+definition.Name+":") && !definition.AnonymousField() {
		return named
	}
	return strings.IndexByte(text, '=') + 1
}

// argumentHint names the argument that was meant, or all there are.
func argumentHint(definition *markers.Definition, wrong string) string {
	names := slices.Sorted(maps.Keys(definition.FieldNames))
	near := slices.MinFunc(names, func(a, b string) int { return editDistance(wrong, a) - editDistance(wrong, b) })
	if editDistance(wrong, near) <= 2 {
		return "write " + near + "="
	}
	return "the arguments are " + strings.Join(names, ", ")
}

// markerAt returns the marker whose comment begins at pos.
func (p *Program) markerAt(pos token.Pos) (marker, bool) {
	for _, pkg := range p.packages {
		for _, file := range pkg.Syntax {
			if pos < file.FileStart || pos >= file.FileEnd {
				continue
			}
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if comment.Pos() == pos {
						return parseMarker(comment)
					}
				}
			}
		}
	}
	return marker{}, false
}

var argumentOffset = regexp.MustCompile(`^(.*) \(at (?:<input>:)?1:(\d+)\)$`)

// splitOffset takes the column in the arguments, counted from 1, off a message of the marker parser. Without one it
// returns 0.
func splitOffset(message string) (string, int) {
	m := argumentOffset.FindStringSubmatch(message)
	if m == nil {
		return message, 0
	}
	column, _ := strconv.Atoi(m[2])
	return m[1], column
}
