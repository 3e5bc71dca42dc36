package resolve

import (
	"path"
	"regexp"
	"strings"
)

// Pattern stands for import paths, or for the names of folders, as the go command takes it: "..." is any text, also none,
// but nothing in a vendor folder that the pattern does not name. "/..." at the end also stands for what is before it.
type Pattern struct {
	text string
	wild *regexp.Regexp // nil without "..."
}

// vendorMark stands for an element "vendor" that something follows. No path has it.
const vendorMark = "\x00"

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
	expression := strings.ReplaceAll(regexp.QuoteMeta(below), `\.\.\.`, `[^`+vendorMark+`]*`)
	if outside, ok := strings.CutSuffix(expression, vendorMark); ok && tree {
		// The folder itself may be a package that is called vendor.
		expression = outside + `(vendor|` + vendorMark + `/[^` + vendorMark + `]*)`
	} else if tree {
		expression += `(/[^` + vendorMark + `]*)?`
	}
	// Text that is no UTF-8 is nothing's name.
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

// IsTree reports whether the pattern stands for more than one name.
func (p Pattern) IsTree() bool { return strings.Contains(p.text, "...") }

// Matches reports whether the pattern stands for a name.
func (p Pattern) Matches(name string) bool {
	if !p.IsTree() {
		return name == p.text
	}
	// The documentation of what is built in is no package.
	return p.wild != nil && name != "builtin" && !strings.Contains(name, vendorMark) && p.wild.MatchString(markVendored(name))
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

// checkImports refuses patterns that are no import paths, or that only the go command understands.
func (p Pattern) checkImports() error {
	switch {
	case p.text == "all":
		return unusual("all is what the main module needs, with its tests")
	case p.text == "" || strings.ContainsAny(p.text, "=@\\") || strings.HasSuffix(p.text, ".go") && !p.IsTree():
		return unusual(p.text + " is no import path")
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
