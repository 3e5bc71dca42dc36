// Package lint reports invalid markers in a program. Each file implements the rules for one subject.
//
// The package also reports problems that controller-gen ignores. A [Finding] reports a marker that is unknown, is
// misplaced, has an invalid value, or contradicts another marker. [Check] returns findings that affect generated files
// as errors, and passes all other findings to [Config.Warn]. A lenient check fails only if controller-gen also fails.
// The package ignores markers of other tools.
package lint

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// Config has the options of Check.
type Config struct {
	// AllowUnknown are prefixes of accepted unknown markers, with or without the leading "+".
	AllowUnknown []string
	// Lenient limits errors to findings for which controller-gen also fails.
	Lenient bool
	// Warn receives the findings that are not errors, ordered by position. It may be nil.
	Warn func(Finding)
}

// checker collects findings about the markers of a program.
type checker struct {
	program  *load.Program
	config   Config
	decls    *typeIndex
	emitted  map[*ast.TypeSpec]bool
	findings []Finding
	// core are the rules about the core group found so far.
	core map[coreRule]bool
	// own are the kinds of the project. They are computed on first use.
	own *[]ownKind
}

// Check returns the findings about the markers of all packages, ordered by position. The error joins the findings that
// must end the run; each of them is a *diagnostic.Error.
func Check(program *load.Program, config Config) ([]Finding, error) {
	c := &checker{program: program, config: config, decls: newTypeIndex(program.Packages()), core: map[coreRule]bool{}}
	c.emitted = c.decls.emittedTypes()
	for _, pkg := range c.decls.all {
		for _, at := range pkg.Markers {
			c.checkPlace(pkg, at)
		}
	}
	for _, pkg := range c.decls.all {
		for _, t := range pkg.all {
			c.checkType(t)
		}
	}
	failures := c.checkArguments()
	sortFindings(c.findings)
	return c.findings, c.failures(failures)
}

// failures returns the findings that must end the run, and passes all other findings to Warn. Findings in kept also end
// lenient runs.
func (c *checker) failures(kept []error) error {
	errs := kept
	for _, f := range c.findings {
		switch {
		case !c.config.Lenient && f.Fatal:
			errs = append(errs, f.Error)
		case c.config.Warn != nil && !(c.config.Lenient && f.Code == CodeArgument):
			c.config.Warn(f)
		}
	}
	return Once(errors.Join(errs...))
}

func (c *checker) reaches(at markers.Marker) bool { return at.Owner == nil || c.emitted[at.Owner] }

// checkPlace reports unknown and misplaced markers, and records all other markers for the checks of types.
func (c *checker) checkPlace(pkg *packageDecls, at markers.Marker) {
	switch {
	case markers.IsInsertionPoint(at.Text):
	case at.Placed == markers.PlacedBlock:
		c.checkBlock(at)
	case at.Definition == nil:
		c.checkUnknown(at)
	case at.IsElsewhere():
		c.checkElsewhere(at)
	case at.Placed == markers.PlacedWrong:
		c.checkMisplaced(at)
	case at.Placed != markers.PlacedRight:
		c.checkIgnored(at)
	case at.Err == nil: // checkArguments reports errors
		c.checkRule(at)
		c.record(pkg, at)
	}
}

// record records a valid marker for the checks of types.
func (c *checker) record(pkg *packageDecls, at markers.Marker) {
	e := entry{Marker: at, name: at.Definition.Name}
	if rest, ok := strings.CutPrefix(e.name, crdmarkers.ValidationItemsPrefix); ok {
		e.name, e.items = "kubebuilder:validation:"+rest, true
	}
	pkg.entries[at.Node] = append(pkg.entries[at.Node], e)
	if t := c.decls.bySpec[at.Owner]; t != nil && at.Target == ctmarkers.DescribesType {
		t.entries = append(t.entries, e)
	}
}

func (c *checker) checkUnknown(at markers.Marker) {
	p := c.program
	if strings.HasPrefix(at.Text, "+ ") || strings.HasPrefix(at.Text, "+\t") {
		return // the user disabled the marker with a space
	}
	if !markers.Ours(at.Text) && !p.Registry().Resembles(at) || c.allowed(at.Text) {
		return
	}
	f := c.report(at.Pos, c.reaches(at), problem(CodeUnknown,
		fmt.Sprintf("unknown marker %q", diagnostic.Cut(at.Name())),
		p.Registry().Correction(at.Text, func(fixed string) bool { return c.accepts(at, fixed) })))
	if fixed, ok := p.Registry().Certain(at); ok && c.accepts(at, fixed) {
		f.Fix = c.fix(at, at.Text, fixed)
	}
}

// accepts reports whether a marker with this text would be valid in the same place. It checks only the text.
func (c *checker) accepts(at markers.Marker, text string) bool {
	definition := c.program.Registry().Definition(text)
	if here := c.program.Registry().Lookup(text, at.Target); here != nil && at.Node != nil {
		definition = here
	}
	if definition == nil {
		return false
	}
	value, err := definition.Parse(text)
	if err != nil {
		return false
	}
	at.Text, at.Definition, at.Value = text, definition, value
	alone := target{checker: &checker{program: c.program, config: c.config, decls: c.decls, core: maps.Clone(c.core)},
		entries: []entry{{Marker: at, name: definition.Name}}}
	alone.checkValues()
	alone.checkRule(at)
	return len(alone.findings) == 0
}

// fix returns an edit that replaces old, which is the beginning of a marker, by text.
func (c *checker) fix(at markers.Marker, old, text string) *Fix {
	pos := diagnostic.Relative(c.program.Dir(), c.program.Fset().PositionFor(at.Pos, false))
	return &Fix{File: pos.Filename, Offset: pos.Offset, Length: len(old), Text: text}
}

// allowed reports whether AllowUnknown contains a prefix of the text of an unknown marker.
func (c *checker) allowed(text string) bool {
	return slices.ContainsFunc(c.config.AllowUnknown, func(prefix string) bool {
		prefix = strings.TrimPrefix(prefix, "+")
		return prefix != "" && strings.HasPrefix(text[1:], prefix)
	})
}
