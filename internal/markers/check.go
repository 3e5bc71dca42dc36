package markers

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// marker is one marker as it stands in a file.
type marker struct {
	text    string    // without the slashes, beginning with "+"
	pos     token.Pos // of the "+"
	comment token.Pos
}

// parseMarker returns the marker in a comment, if it is one: a line comment that begins with "+".
func parseMarker(comment *ast.Comment) (marker, bool) {
	rest, ok := strings.CutPrefix(comment.Text, "//")
	text := strings.TrimSpace(rest)
	if !ok || !strings.HasPrefix(text, "+") {
		return marker{}, false
	}
	return marker{
		text: text, pos: comment.Pos() + token.Pos(strings.IndexByte(comment.Text, '+')), comment: comment.Pos(),
	}, true
}

// markerName returns a marker without its value.
func markerName(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return strings.TrimRight(name, ": ")
}

// checker finds what is wrong with the markers of a program.
type checker struct {
	program  *Program
	decls    *typeIndex
	emitted  map[*ast.TypeSpec]bool
	findings []Finding
}

// check finds what is wrong with the markers of all packages, and remembers the values of those that are right. It
// returns what of it has to end the run.
func (p *Program) check() error {
	c := &checker{program: p, decls: newTypeIndex(p.packages)}
	for _, pkg := range c.decls.all {
		for _, file := range pkg.Syntax {
			pkg.places = append(pkg.places, placesIn(p.registry, p.fset, file)...)
		}
	}
	c.emitted = c.decls.emittedTypes()
	for _, pkg := range c.decls.all {
		for _, at := range pkg.places {
			c.checkPlace(pkg, at)
		}
		for _, file := range pkg.Syntax {
			c.checkBlockComments(file)
		}
	}
	for _, pkg := range c.decls.all {
		c.checkTypes(pkg)
	}
	failures := c.collect()
	sortFindings(c.findings)
	p.findings = c.findings
	return p.failures(failures)
}

// failures returns the findings that have to end a run, and tells of the others. kept are findings that do so even in
// lenient runs.
func (p *Program) failures(kept []error) error {
	errs := kept
	for _, f := range p.findings {
		switch {
		case !p.lenient && f.Fatal:
			errs = append(errs, f.Error)
		case p.warn != nil && !(p.lenient && f.Code == CodeArgument):
			p.warn(f)
		}
	}
	return joinOnce(errs)
}

// reaches reports whether what is wrong with a marker can be seen in what generators write.
func (c *checker) reaches(at place) bool { return at.owner == nil || c.emitted[at.owner] }

// checkPlace reports a marker that is unknown or stands where it means nothing, and keeps the value of any other.
func (c *checker) checkPlace(pkg *packageDecls, at place) {
	registry := c.program.registry
	if registry.isInsertionPoint(at.text) {
		return
	}
	definition := registry.definition(at.text)
	if definition == nil {
		c.checkUnknown(at)
		return
	}
	if at.node == nil {
		c.checkIgnored(pkg, at, definition)
		return
	}
	here := registry.Lookup(at.text, at.target)
	if here == nil || here.Name == crdmarkers.K8sEnumTag && at.target == markers.DescribesField {
		c.checkMisplaced(pkg, at, definition)
		return
	}
	value, err := here.Parse(at.text)
	if err != nil {
		return // The collector says so too.
	}
	c.checkRule(at, value)
	e := entry{place: at, name: here.Name, value: value}
	if rest, ok := strings.CutPrefix(here.Name, crdmarkers.ValidationItemsPrefix); ok {
		e.name, e.items = "kubebuilder:validation:"+rest, true
	}
	pkg.entries[at.node] = append(pkg.entries[at.node], e)
	if t := c.decls.bySpec[at.owner]; t != nil && at.target == markers.DescribesType {
		t.entries = append(t.entries, e)
	}
}

// checkUnknown reports a marker that no generator knows.
func (c *checker) checkUnknown(at place) {
	p := c.program
	if strings.HasPrefix(at.text, "+ ") || strings.HasPrefix(at.text, "+\t") {
		return // switched off
	}
	if !ours(at.text) && !p.registry.resembles(at) || p.allowed(at.text) {
		return
	}
	f := c.report(at.pos, c.reaches(at), diagnostic.Error{
		Code:    CodeUnknown,
		Message: fmt.Sprintf("unknown marker %q", cut(markerName(at.text))),
		Hint:    p.registry.correction(at.text, func(fixed string) bool { return c.accepts(at, fixed) }),
	})
	if fixed, ok := p.registry.certain(at); ok && c.accepts(at, fixed) {
		f.Fix = c.fix(at, at.text, fixed)
	}
}

// accepts reports whether nothing would be wrong with a text in the place of a marker, as far as that can be seen in the
// text alone.
func (c *checker) accepts(at place, text string) bool {
	definition := c.program.registry.definition(text)
	if here := c.program.registry.Lookup(text, at.target); here != nil && at.node != nil {
		definition = here
	}
	if definition == nil {
		return false
	}
	value, err := definition.Parse(text)
	if err != nil {
		return false
	}
	at.text = text
	alone := subject{checker: &checker{program: c.program}, entries: []entry{{place: at, name: definition.Name, value: value}}}
	alone.checkValues()
	alone.checkPaths()
	alone.checkRule(at, value)
	return len(alone.findings) == 0
}

// fix replaces old, which begins a marker, by text.
func (c *checker) fix(at place, old, text string) *Fix {
	pos := relative(c.program.dir, c.program.fset.PositionFor(at.pos, false))
	return &Fix{File: pos.Filename, Offset: pos.Offset, Length: len(old), Text: text}
}

// allowed reports whether the user wants an unknown marker to be left alone.
func (p *Program) allowed(text string) bool {
	return slices.ContainsFunc(p.allow, func(prefix string) bool {
		prefix = strings.TrimPrefix(prefix, "+")
		return prefix != "" && strings.HasPrefix(text[1:], prefix)
	})
}
