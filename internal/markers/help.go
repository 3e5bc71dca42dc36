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

// Help is the documentation of a marker.
type Help struct {
	// Name is the name of the marker, without "+".
	Name string `json:"name"`
	// Group is the subject of the marker, such as "Strings".
	Group string `json:"group"`
	// Targets are the declarations that the marker describes: "package", "type", "field".
	Targets []string `json:"targets"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Details are further sentences. May be empty.
	Details string `json:"details,omitempty"`
	// Arguments are sorted by name. A marker with a single value has one argument without a name; a flag has none.
	Arguments []ArgumentHelp `json:"arguments"`
	// Example is the marker as written, with "+".
	Example string `json:"example"`
	// Instead is the replacement of a deprecated marker. Empty for all others.
	Instead string `json:"instead,omitempty"`
}

// ArgumentHelp is the documentation of an argument of a marker.
type ArgumentHelp struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Default  string `json:"default,omitempty"`
	Summary  string `json:"summary,omitempty"`
}

// Groups are the groups of markers, in reading order.
var Groups = []string{
	"API packages", "Kinds", "Deep copies", "Apply configurations", "Presence and defaults", "Numbers", "Strings",
	"Lists", "Objects", "Any type", "Items of lists", "RBAC", "Webhooks",
}

// Explain returns the documentation of all markers, ordered by group and name. The descriptions are kctrl's own;
// targets, arguments and their types come from the registry.
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

// Help returns the documentation of the marker with a name.
func (r *Registry) Help(name string) (Help, bool) {
	text, ok := rowOf(name)
	definition := r.Definition("+" + name)
	if !ok || definition == nil {
		return Help{}, false
	}
	help := Help{Name: name, Group: text.group, Summary: text.summary, Details: text.details, Example: text.example,
		Instead: text.instead, Arguments: []ArgumentHelp{}}
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

// NameOf returns the name of the marker in a text such as "+kubebuilder:printcolumn:name=Age".
func (r *Registry) NameOf(text string) (string, bool) {
	definition := r.Definition("+" + strings.TrimPrefix(text, "+"))
	if definition == nil {
		return "", false
	}
	return definition.Name, true
}

// Ending returns the name of the marker that ends in the parts of name, such as "MinLength" or "items:MinLength". If
// several markers do, it prefers a name with the same case, and then the shortest name.
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

// Nearest returns the names of markers that name may mean: those that contain it, or else the one with the most similar
// spelling.
func (r *Registry) Nearest(name string) []string {
	name = strings.TrimPrefix(name, "+")
	var found []string
	for _, known := range r.names {
		if strings.Contains(strings.ToLower(known), strings.ToLower(name)) &&
			!strings.HasPrefix(known, crdmarkers.ValidationItemsPrefix) {
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
		if diagnostic.MayMean(lastPart(name), lastPart(known)) &&
			!strings.HasPrefix(known, crdmarkers.ValidationItemsPrefix) {
			found = append(found, known)
		}
	}
	return found
}

var typeNames = map[markers.ArgumentType]string{
	markers.IntType: "integer", markers.NumberType: "number", markers.StringType: "string", markers.BoolType: "boolean",
	markers.MapType: "map", markers.AnyType: "any value",
}

func typeOf(argument markers.Argument) string {
	switch {
	case argument.Type != markers.SliceType:
		return cmp.Or(typeNames[argument.Type], "text")
	case argument.ItemType.Type == markers.AnyType:
		return "list of values"
	}
	return "list of " + typeOf(*argument.ItemType) + "s"
}

// rowOf returns the row of the marker with a name. A marker for items of lists has the row of the marker that it
// repeats.
func rowOf(name string) (row, bool) {
	if rest, ok := strings.CutPrefix(name, crdmarkers.ValidationItemsPrefix); ok {
		found, known := rowOf("kubebuilder:validation:" + rest)
		begin := min(1, len(found.summary))
		found.group = "Items of lists"
		found.summary = "For each item of a list: " + strings.ToLower(found.summary[:begin]) + found.summary[begin:]
		found.example = strings.Replace(found.example, "kubebuilder:validation:", crdmarkers.ValidationItemsPrefix, 1)
		return found, known
	}
	found, ok := table[name]
	return found, ok
}
