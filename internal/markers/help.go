package markers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Help is what there is to know about a marker.
type Help struct {
	// Name is the marker without "+".
	Name string `json:"name"`
	// Group says what the marker is for, such as "Strings".
	Group string `json:"group"`
	// Targets are what the marker describes: "package", "type", "field".
	Targets []string `json:"targets"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Details say what else matters. May be empty.
	Details string `json:"details,omitempty"`
	// Arguments are by name. A marker with one value has one without a name, and a flag has none.
	Arguments []ArgumentHelp `json:"arguments"`
	// Example is the marker as it is written, with "+".
	Example string `json:"example"`
	// Instead is the marker to use instead of one that is out of date. Empty for all others.
	Instead string `json:"instead,omitempty"`
}

// ArgumentHelp is what there is to know about an argument of a marker.
type ArgumentHelp struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Default  string `json:"default,omitempty"`
	Summary  string `json:"summary,omitempty"`
}

// Groups are the groups of markers, in the order in which they are best read.
var Groups = []string{
	"API packages", "Kinds", "Deep copies", "Apply configurations", "Presence and defaults", "Numbers", "Strings", "Lists", "Objects",
	"Any type", "Items of lists", "RBAC", "Webhooks",
}

// Explain returns what there is to know about all markers, by group and name. Its text is kctrl's own; targets, arguments
// and their types are those of the registry.
func (r *Registry) Explain() []Help {
	var all []Help
	for _, name := range r.names {
		if help, ok := r.Help(name); ok {
			all = append(all, help)
		}
	}
	slices.SortFunc(all, func(a, b Help) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Groups, a.Group), slices.Index(Groups, b.Group)),
			strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)),
			strings.Compare(a.Name, b.Name),
		)
	})
	return all
}

// Help returns what there is to know about the marker with a name.
func (r *Registry) Help(name string) (Help, bool) {
	text, ok := rowOf(name)
	definition := r.Definition("+" + name)
	if !ok || definition == nil {
		return Help{}, false
	}
	help := Help{Name: name, Group: text.group, Summary: text.summary, Details: text.details, Example: text.example, Instead: text.instead, Arguments: []ArgumentHelp{}}
	for _, target := range r.Targets(name) {
		help.Targets = append(help.Targets, target.String())
	}
	for _, argument := range slices.Sorted(maps.Keys(definition.Fields)) {
		field := definition.Fields[argument]
		about := text.arguments[argument]
		help.Arguments = append(help.Arguments, ArgumentHelp{
			Name: argument, Type: typeOf(field), Required: !field.Optional, Default: about.fallback, Summary: about.summary,
		})
	}
	slices.SortStableFunc(help.Arguments, func(a, b ArgumentHelp) int {
		return cmp.Compare(slices.Index([]bool{true, false}, a.Required), slices.Index([]bool{true, false}, b.Required))
	})
	return help, true
}

// NameOf returns the name of the marker that text, such as "+kubebuilder:printcolumn:name=Age", is one of.
func (r *Registry) NameOf(text string) (string, bool) {
	definition := r.Definition("+" + strings.TrimPrefix(text, "+"))
	if definition == nil {
		return "", false
	}
	return definition.Name, true
}

// Ending returns the name of the marker that ends in the parts that name has, such as "MinLength" or "items:MinLength". Of
// several it is the one spelt alike, and then the shortest.
func (r *Registry) Ending(name string) (string, bool) {
	name = ":" + strings.TrimPrefix(name, "+")
	for _, spelling := range []func(string) string{func(text string) string { return text }, strings.ToLower} {
		best := ""
		for _, known := range r.names {
			if strings.HasSuffix(spelling(":"+known), spelling(name)) && (best == "" || len(known) < len(best)) {
				best = known
			}
		}
		if best != "" {
			return best, true
		}
	}
	return "", false
}

// Nearest returns the names of markers that name can be meant for: those with it as a part, or else the one that is
// spelt most like it.
func (r *Registry) Nearest(name string) []string {
	name = strings.TrimPrefix(name, "+")
	var found []string
	for _, known := range r.names {
		if strings.Contains(strings.ToLower(known), strings.ToLower(name)) && !strings.HasPrefix(known, crdmarkers.ValidationItemsPrefix) {
			found = append(found, known)
		}
	}
	if len(found) > 0 {
		return found
	}
	if fixed, ok := r.nearest("+"+name, func(string) bool { return true }); ok {
		return []string{fixed[1:]}
	}
	for _, known := range r.names {
		if diagnostic.MayMean(lastPart(name), lastPart(known)) && !strings.HasPrefix(known, crdmarkers.ValidationItemsPrefix) {
			found = append(found, known)
		}
	}
	return found
}

// typeOf returns the type of an argument in words.
func typeOf(argument markers.Argument) string {
	switch argument.Type {
	case markers.IntType:
		return "integer"
	case markers.NumberType:
		return "number"
	case markers.StringType:
		return "string"
	case markers.BoolType:
		return "boolean"
	case markers.SliceType:
		if argument.ItemType.Type == markers.AnyType {
			return "list of values"
		}
		return "list of " + typeOf(*argument.ItemType) + "s"
	case markers.MapType:
		return "map"
	case markers.AnyType:
		return "any value"
	}
	return "text"
}

// rowOf returns what is known of the marker with a name. A marker for items of lists has the row of the one that it repeats.
func rowOf(name string) (row, bool) {
	if rest, ok := strings.CutPrefix(name, crdmarkers.ValidationItemsPrefix); ok {
		found, known := rowOf("kubebuilder:validation:" + rest)
		found.group = "Items of lists"
		found.summary = "For each item of a list: " + strings.ToLower(found.summary[:min(1, len(found.summary))]) + found.summary[min(1, len(found.summary)):]
		found.example = strings.Replace(found.example, "kubebuilder:validation:", crdmarkers.ValidationItemsPrefix, 1)
		return found, known
	}
	found, ok := table[name]
	return found, ok
}
