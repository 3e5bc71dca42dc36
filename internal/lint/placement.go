package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"

	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// shared are prefixes of markers that other tools also read, possibly in places where kctrl's generators do not.
var shared = []string{"k8s:", "default"}

// answersFor reports whether kctrl reports the known marker if it is in a wrong place.
func answersFor(name string) bool {
	return !slices.ContainsFunc(shared, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// checkIgnored reports a marker that does not belong to a declaration, unless the marker is valid in any place.
func (c *checker) checkIgnored(at markers.Marker) {
	definition := at.Definition
	if !answersFor(definition.Name) || at.Owner == nil && !markers.Ours(at.Text) &&
		definition.Target != ctmarkers.DescribesPackage {
		return
	}
	c.report(at.Pos, c.reaches(at), problem(CodeIgnored, fmt.Sprintf("+%s is ignored %s", definition.Name, at.Placed),
		c.whereTo(at, definition.Name)))
}

// checkElsewhere reports a marker that applies to the whole project, in a place that controller-gen does not read.
// Without the finding, the marker's permissions or webhooks would be missing from the manifests.
func (c *checker) checkElsewhere(at markers.Marker) {
	d := diagnostic.Error{Code: CodeIgnored, Hint: "put a blank line after the comment with the marker"}
	switch {
	case at.Placed == markers.PlacedBody:
		d.Hint = "move it out of the function"
	case at.Owner != nil && at.Target != ctmarkers.DescribesType:
		d.Hint = "move it above the package clause"
	}
	d.Message = fmt.Sprintf("+%s is ignored %s", at.Definition.Name, at.Placed)
	if at.Node != nil {
		d.Message = fmt.Sprintf("+%s is ignored in the comment of %s", at.Definition.Name, targetNames[at.Target])
	}
	c.report(at.Pos, !c.config.Lenient, d)
}

// whereTo returns a hint with the correct place for an ignored marker.
func (c *checker) whereTo(at markers.Marker, name string) string {
	targets := c.program.Registry().Targets(name)
	switch {
	case at.Placed == markers.PlacedDetached && at.Next != "":
		return "move it into the comment right above " + at.Next
	case at.Placed == markers.PlacedLineEnd && slices.Contains(targets, ctmarkers.DescribesField) && at.Owner != nil:
		return "write it on its own line above the field"
	}
	return "move it " + join(targets, targetPlaces)
}

// join joins the texts of targets.
func join(targets []ctmarkers.TargetType, texts map[ctmarkers.TargetType]string) string {
	var all []string
	for _, target := range targets {
		all = append(all, texts[target])
	}
	return strings.Join(all, " or ")
}

// The names and places of targets in messages.
var (
	targetNames = map[ctmarkers.TargetType]string{
		ctmarkers.DescribesPackage: "a package", ctmarkers.DescribesType: "a type", ctmarkers.DescribesField: "a field",
	}
	targetPlaces = map[ctmarkers.TargetType]string{
		ctmarkers.DescribesPackage: "above the package clause", ctmarkers.DescribesType: "above the type",
		ctmarkers.DescribesField: "above a field",
	}
)

// checkMisplaced reports a marker on the wrong kind of declaration.
func (c *checker) checkMisplaced(at markers.Marker) {
	definition := at.Definition
	if !answersFor(definition.Name) && definition.Name != "k8s:enum" {
		return
	}
	if at.Target == ctmarkers.DescribesPackage && !markers.Ours(at.Text) {
		return
	}
	targets := c.program.Registry().Targets(definition.Name)
	d := problem(CodeMisplaced,
		fmt.Sprintf("+%s describes %s, not %s", definition.Name, join(targets, targetNames), targetNames[at.Target]),
		"move it "+join(targets, targetPlaces))
	if at.Target == ctmarkers.DescribesField && slices.Contains(targets, ctmarkers.DescribesType) && at.Owner != nil {
		d.Hint = "move it above a type, such as " + at.Owner.Name.Name
	}
	if at.Target == ctmarkers.DescribesPackage {
		d.Message = fmt.Sprintf("+%s describes %s, but is not attached to one", definition.Name, join(targets, targetNames))
		d.Hint = "move it into the comment right above " + follower(at, targets)
	}
	c.report(at.Pos, c.reaches(at), d)
}

// follower returns the name of the declaration that a detached marker belongs to.
func follower(at markers.Marker, targets []ctmarkers.TargetType) string {
	switch {
	case !slices.Contains(targets, ctmarkers.DescribesType):
		return "the field"
	case at.Next != "":
		return at.Next
	}
	return "the type"
}

// checkBlock reports a marker that generators ignore because of its comment, such as a block comment.
func (c *checker) checkBlock(at markers.Marker) {
	if at.Definition == nil || !strings.HasPrefix(at.Text, "+kubebuilder:") {
		return
	}
	c.report(at.Pos, true, problem(CodeIgnored, fmt.Sprintf("+%s is ignored %s", at.Definition.Name, at.Placed),
		"write // "+at.Text))
}
