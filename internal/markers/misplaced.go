package markers

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// shared are the markers outside of kctrl's families that other tools read too, at targets where no generator here
// does.
var shared = []string{"k8s:", "default"}

// answersFor reports whether kctrl says so when a marker that it knows stands in the wrong place.
func answersFor(name string) bool {
	return !slices.ContainsFunc(shared, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// countsAnywhere are the markers that are about the whole project, so that it does not matter what they stand on.
var countsAnywhere = []string{"kubebuilder:rbac", "kubebuilder:webhook", "kubebuilder:webhookconfiguration"}

// checkIgnored reports a marker that describes nothing, or makes it count where its meaning does not depend on the
// place.
func (c *checker) checkIgnored(pkg *packageDecls, at place, definition *markers.Definition) {
	if slices.Contains(countsAnywhere, definition.Name) && at.spot != spotLineEnd {
		c.rescue(pkg, at, definition)
		return
	}
	if !answersFor(definition.Name) || at.owner == nil && !ours(at.text) && definition.Target != markers.DescribesPackage {
		return
	}
	c.report(at.pos, c.reaches(at), diagnostic.Error{
		Code:    CodeIgnored,
		Message: fmt.Sprintf("+%s is ignored %s", definition.Name, at.spot.describe()),
		Hint:    c.whereTo(at, definition.Name),
	})
}

// rescue makes a marker count for the package although it stands where controller-gen does not look. A lenient run,
// which does what controller-gen would, tells of it instead.
func (c *checker) rescue(pkg *packageDecls, at place, definition *markers.Definition) {
	if c.program.lenient {
		d := diagnostic.Error{Code: CodeIgnored, Hint: "put a blank line behind the comment with the marker"}
		switch {
		case at.spot == spotBody:
			d.Hint = "move it out of the function"
		case at.owner != nil && at.target != markers.DescribesType:
			d.Hint = "move it above the package clause"
		}
		d.Message = fmt.Sprintf("+%s is ignored %s", definition.Name, at.spot.describe())
		if at.node != nil {
			d.Message = fmt.Sprintf("+%s is ignored in the comment of %s", definition.Name, targetNames[at.target])
		}
		c.report(at.pos, false, d)
		return
	}
	value, err := definition.Parse(at.text)
	if err != nil {
		c.argumentError(at, definition, err, true)
		return
	}
	file := fileAt(pkg, at.pos)
	c.checkRule(at, value)
	pkg.rescued = append(pkg.rescued, rescued{file, definition.Name, value})
}

// rescued is a marker that counts for the package of a file.
type rescued struct {
	file  *ast.File
	name  string
	value any
}

func fileAt(pkg *packageDecls, pos token.Pos) *ast.File {
	for _, file := range pkg.Syntax {
		if file.FileStart <= pos && pos < file.FileEnd {
			return file
		}
	}
	return nil
}

// whereTo says where a marker that is ignored belongs.
func (c *checker) whereTo(at place, name string) string {
	targets := c.program.registry.targets(name)
	switch {
	case at.spot == spotDetached && at.next != "":
		return "move it into the comment right above " + at.next
	case at.spot == spotLineEnd && slices.Contains(targets, markers.DescribesField) && at.owner != nil:
		return "write it on a line of its own above the field"
	case at.spot == spotBlock:
		return "write it in a comment that begins with //"
	}
	return "move it " + belongs(targets)
}

// belongs says where a marker with the given targets belongs.
func belongs(targets []markers.TargetType) string {
	var places []string
	for _, target := range targets {
		switch target {
		case markers.DescribesPackage:
			places = append(places, "above the package clause")
		case markers.DescribesType:
			places = append(places, "above the type")
		case markers.DescribesField:
			places = append(places, "above a field")
		}
	}
	return strings.Join(places, " or ")
}

// targetNames say what markers describe.
var targetNames = map[markers.TargetType]string{
	markers.DescribesPackage: "a package", markers.DescribesType: "a type", markers.DescribesField: "a field",
}

// checkMisplaced reports a marker that describes something else than what it stands on.
func (c *checker) checkMisplaced(pkg *packageDecls, at place, definition *markers.Definition) {
	if slices.Contains(countsAnywhere, definition.Name) {
		c.rescue(pkg, at, definition)
		return
	}
	if !answersFor(definition.Name) && definition.Name != "k8s:enum" {
		return
	}
	if at.target == markers.DescribesPackage && !ours(at.text) {
		return
	}
	targets := c.program.registry.targets(definition.Name)
	d := diagnostic.Error{
		Code:    CodeMisplaced,
		Message: fmt.Sprintf("+%s describes %s, not %s", definition.Name, kindsOf(targets), targetNames[at.target]),
		Hint:    "move it " + belongs(targets),
	}
	if at.target == markers.DescribesField && slices.Contains(targets, markers.DescribesType) && at.owner != nil {
		d.Hint = "move it above a type, such as " + at.owner.Name.Name
	}
	if at.target == markers.DescribesPackage {
		d.Message = fmt.Sprintf("+%s describes %s, and stands alone", definition.Name, kindsOf(targets))
		d.Hint = "move it into the comment right above " + follower(at, targets)
	}
	c.report(at.pos, c.reaches(at), d)
}

// follower names what a marker that stands alone belongs to.
func follower(at place, targets []markers.TargetType) string {
	switch {
	case !slices.Contains(targets, markers.DescribesType):
		return "the field"
	case at.next != "":
		return at.next
	}
	return "the type"
}

// kindsOf returns what a marker describes, in words.
func kindsOf(targets []markers.TargetType) string {
	var names []string
	for _, target := range targets {
		names = append(names, targetNames[target])
	}
	return strings.Join(names, " or ")
}

// checkBlockComments reports markers in comments of the other kind.
func (c *checker) checkBlockComments(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "/*") && strings.Contains(comment.Text, "+kubebuilder:") {
				c.checkBlockComment(comment)
			}
		}
	}
}

func (c *checker) checkBlockComment(comment *ast.Comment) {
	offset := 0
	for line := range strings.Lines(comment.Text) {
		text := strings.TrimSpace(strings.TrimLeft(strings.TrimSuffix(strings.TrimSpace(line), "*/"), "/* \t"))
		if strings.HasPrefix(text, "+kubebuilder:") && c.program.registry.definition(text) != nil {
			definition := c.program.registry.definition(text)
			c.report(comment.Pos()+token.Pos(offset+strings.IndexByte(line, '+')), true, diagnostic.Error{
				Code:    CodeIgnored,
				Message: fmt.Sprintf("+%s is ignored %s", definition.Name, spotBlock.describe()),
				Hint:    "write // " + text,
			})
		}
		offset += len(line)
	}
}
