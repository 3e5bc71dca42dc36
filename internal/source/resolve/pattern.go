package resolve

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Pattern stands for import paths, or for the names of folders, as the go command takes it: "..." is any text, also none,
// but nothing in a vendor folder that the pattern does not name. "/..." at the end also stands for what is before it.
type Pattern struct {
	text string
	wild *regexp.Regexp // nil without "..."
}

// vendored stands for an element "vendor" that something follows. No path has it.
const vendored = "\x00"

// NewPattern returns the pattern that a text is.
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
	expression := strings.ReplaceAll(regexp.QuoteMeta(below), `\.\.\.`, `[^`+vendored+`]*`)
	if outside, ok := strings.CutSuffix(expression, vendored); ok && tree {
		// The folder itself may be a package that is called vendor.
		expression = outside + `(vendor|` + vendored + `/[^` + vendored + `]*)`
	} else if tree {
		expression += `(/[^` + vendored + `]*)?`
	}
	// Text that is no UTF-8 is nothing's name.
	p.wild, _ = regexp.Compile(`^` + expression + `$`)
	return p
}

func markVendored(name string) string {
	elements := strings.Split(name, "/")
	for i := range elements[:len(elements)-1] {
		if elements[i] == "vendor" {
			elements[i] = vendored
		}
	}
	return strings.Join(elements, "/")
}

// IsTree reports whether the pattern stands for more than one name.
func (p Pattern) IsTree() bool { return strings.Contains(p.text, "...") }

// Matches reports whether the pattern stands for a name.
func (p Pattern) Matches(name string) bool {
	if !p.IsTree() {
		return name == p.text
	}
	return p.wild != nil && !strings.Contains(name, vendored) && p.wild.MatchString(markVendored(name))
}

// prefix returns what all names begin with.
func (p Pattern) prefix() string {
	before, _, _ := strings.Cut(p.text, "...")
	return before
}

// Base returns the folder that all names are in: the whole elements before the first "...", or all of them.
func (p Pattern) Base() string {
	if !p.IsTree() {
		return p.text
	}
	prefix := p.prefix()
	return prefix[:max(0, strings.LastIndexByte(prefix, '/'))]
}

// checkImports refuses patterns that are no import paths of modules, or odd ones: what they mean is left to the go command.
func (p Pattern) checkImports() error {
	prefix := p.prefix()
	first, _, _ := strings.Cut(prefix, "/")
	switch {
	case !strings.Contains(first, "."):
		// Packages of the standard library, a meta package such as "all", or a pattern that may match these.
		return unusual(p.text + " may be of the standard library")
	case strings.ContainsAny(p.text, "=@\\") || strings.HasSuffix(p.text, ".go") && !p.IsTree():
		return unusual(p.text + " is no import path")
	case path.Clean(p.text) != p.text || slices.ContainsFunc(strings.Split(p.Base(), "/"), isHidden):
		return unusual("odd import path " + p.text)
	}
	return nil
}

// touches reports whether packages of a module may match, and whether all of these are below the base of the pattern.
func (p Pattern) touches(modulePath string) (above, below bool) {
	base := p.Base()
	return base != "" && within(base, modulePath), strings.HasPrefix(modulePath, p.prefix()) || modulePath == base
}
