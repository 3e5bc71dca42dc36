package resolve

import (
	"path"
	"regexp"
	"strings"
)

// Pattern is a pattern of import paths, or of directory names, with the rules of the go command. "..." matches any
// string, including the empty one, but no vendor directory that the pattern does not contain itself. "/..." at the end
// also matches the path before it.
type Pattern struct {
	text string
	wild *regexp.Regexp // nil without "..."
}

// vendorMark replaces an element "vendor" that is not the last. No path contains it.
const vendorMark = "\x00"

// NewPattern parses a pattern.
func NewPattern(text string) Pattern {
	p := Pattern{text: text}
	if !strings.Contains(text, "...") {
		return p
	}
	marked := markVendored(text)
	below, tree := strings.CutSuffix(marked, "/...")
	if !tree {
		below = marked
	}
	expression := strings.ReplaceAll(regexp.QuoteMeta(below), `\.\.\.`, `[^`+vendorMark+`]*`)
	if outside, ok := strings.CutSuffix(expression, vendorMark); ok && tree {
		// The directory itself may be a package named vendor.
		expression = outside + `(vendor|` + vendorMark + `/[^` + vendorMark + `]*)`
	} else if tree {
		expression += `(/[^` + vendorMark + `]*)?`
	}
	// A pattern that is not UTF-8 matches no name.
	p.wild, _ = regexp.Compile(`^` + expression + `$`)
	return p
}

func markVendored(name string) string {
	elements := strings.Split(name, "/")
	for i := range elements[:len(elements)-1] {
		if elements[i] == "vendor" {
			elements[i] = vendorMark
		}
	}
	return strings.Join(elements, "/")
}

// IsTree reports whether the pattern can match more than one name.
func (p Pattern) IsTree() bool { return strings.Contains(p.text, "...") }

// Matches reports whether the pattern matches a name.
func (p Pattern) Matches(name string) bool {
	if !p.IsTree() {
		return name == p.text
	}
	// The go command ignores builtin, which only documents the built-in identifiers.
	return p.wild != nil && name != "builtin" && !strings.Contains(name, vendorMark) &&
		p.wild.MatchString(markVendored(name))
}

// prefix returns the common prefix of all matching names.
func (p Pattern) prefix() string {
	before, _, _ := strings.Cut(p.text, "...")
	return before
}

// Base returns the directory that contains all matching names: the whole elements before the first "...", or the whole
// name.
func (p Pattern) Base() string {
	if !p.IsTree() {
		return p.text
	}
	prefix := p.prefix()
	return prefix[:max(0, strings.LastIndexByte(prefix, '/'))]
}

// checkImports returns an error for patterns that are not import paths, or that only the go command supports.
func (p Pattern) checkImports() error {
	switch {
	case p.text == "all":
		return unusual("all is what the main module needs, with its tests")
	case p.text == "" || strings.ContainsAny(p.text, "=@\\") || strings.HasSuffix(p.text, ".go") && !p.IsTree():
		return unusual(p.text + " is not an import path")
	case path.Clean(p.text) != p.text:
		return unusual("odd import path " + p.text)
	}
	return nil
}

// touches reports whether packages of a module may match, and whether all of these are below the base of the pattern.
func (p Pattern) touches(modulePath string) (above, below bool) {
	base := p.Base()
	return base != "" && within(base, modulePath), strings.HasPrefix(modulePath, p.prefix()) || modulePath == base
}
