package markers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Correction returns a hint for an unknown marker. A marker in the hint is always accepted.
func (r *Registry) Correction(text string, accepts func(fixed string) bool) string {
	near, found := r.nearest(text, accepts)
	if !found {
		near, found = r.argumentAlone(text, accepts)
	}
	switch {
	case found && accepts(near):
		return "write // " + diagnostic.Cut(near)
	case near == "+kubebuilder:validation:UniqueItems=true":
		return "write // +listType=set"
	case strings.HasPrefix(text, "+kubebuilder:subresource"):
		return "the subresources are " + table["kubebuilder:subresource:status"].example + " and " +
			table["kubebuilder:subresource:scale"].example
	case found && ExampleHint(r.Definition(near)) != "":
		return ExampleHint(r.Definition(near))
	}
	return "remove it, or allow it with --allow-unknown " + diagnostic.Cut(nameIn(text))
}

// nearest returns text with the most similar known name. Among equally similar names, it prefers an accepted one.
func (r *Registry) nearest(text string, accepts func(fixed string) bool) (fixed string, ok bool) {
	best := -1
	for _, candidate := range spellings(text) {
		for _, name := range r.names {
			distance, near := distanceOf(candidate, name)
			written := "+" + name + candidate.rest
			better := near && (best < 0 || distance < best || distance == best && !accepts(fixed) && accepts(written))
			// The text after the name may change the name: "+a:b:c=1" is "a:b:c", not "a:b" with arguments.
			if better && r.Definition(written) != nil {
				best, fixed = distance, written
			}
		}
	}
	return fixed, best >= 0
}

// argumentAlone handles an unknown marker whose name ends in the name of an argument that only one marker has. It
// inserts the name of that marker: +kubebuilder:singular=a becomes +kubebuilder:resource:singular=a.
func (r *Registry) argumentAlone(text string, accepts func(fixed string) bool) (fixed string, ok bool) {
	name, value, assigned := strings.Cut(text[1:], "=")
	if !assigned || !Ours(text) {
		return "", false
	}
	argument := lastPart(strings.TrimRight(name, ":"))
	count := 0
	for _, known := range r.names {
		definition := r.Definition("+" + known)
		if definition == nil || definition.AnonymousField() || !strings.HasPrefix(known, "kubebuilder:") {
			continue
		}
		for field := range definition.FieldNames {
			if written := "+" + known + ":" + field + "=" + value; strings.EqualFold(field, argument) && accepts(written) {
				fixed = written
				count++
			}
		}
	}
	return fixed, count == 1
}

// Certain returns text with the name replaced by the only known name that differs by one typing error and is valid in
// this place.
func (r *Registry) Certain(at Marker) (fixed string, ok bool) {
	best, count := 0, 0
	for _, candidate := range spellings(at.Text) {
		if candidate.rest == "" && strings.ContainsAny(at.Text, " ") {
			return "", false
		}
		for _, name := range r.names {
			wrong, right := strings.ToLower(candidate.name), strings.ToLower(name)
			distance := diagnostic.Slips(wrong, right)
			if !diagnostic.MayMean(familyOf(wrong), familyOf(right)) || distance > diagnostic.LikelySlips(lastPart(right)) {
				continue
			}
			switch {
			case count == 0 || distance < best:
				best, count, fixed = distance, 1, "+"+name+candidate.rest
			case distance == best:
				count++
			}
		}
	}
	if count != 1 {
		return "", false
	}
	definition := r.Definition(fixed)
	if definition != nil && !RulesOf(definition.Name).Anywhere {
		definition = r.Lookup(fixed, at.Target)
	}
	if definition == nil || at.Node == nil && !RulesOf(definition.Name).Anywhere {
		return "", false
	}
	_, err := definition.Parse(fixed)
	return fixed, err == nil
}

// Resembles reports whether a marker without a family, on a type or field, differs in one letter from a known one, or
// whether the family of a marker is misspelled.
func (r *Registry) Resembles(at Marker) bool {
	name := nameIn(at.Text)[1:]
	if family := familyOf(name); family != "" && diagnostic.MayMean(family, "kubebuilder") {
		return true
	}
	if strings.ContainsAny(name, ":./ ") || at.Owner == nil {
		return false
	}
	return slices.ContainsFunc(r.names, func(known string) bool {
		return len(known) > len("default") && !strings.Contains(known, ":") && diagnostic.IsSlip(name, known)
	})
}

// spelling is one way to split a marker into a name and the rest.
type spelling struct{ name, rest string }

// spellings returns the ways to split an unknown marker. The name is everything before "=", or all except the last
// part, which is then an argument or a value with a missing "=". In a text with spaces, it may be the first word.
func spellings(text string) []spelling {
	name, value, assigned := strings.Cut(text[1:], "=")
	if first, _, spaced := strings.Cut(name, " "); spaced {
		return []spelling{{name: first}}
	}
	if !assigned {
		all := []spelling{{name: strings.TrimRight(name, ":")}}
		if i := strings.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 {
			all = append(all, spelling{name[:i], "=" + name[i+1:]})
		}
		return all
	}
	all := []spelling{{strings.TrimRight(name, ":"), "=" + value}}
	if strings.HasSuffix(name, ":") {
		all[0].rest = ":=" + value
	}
	// Named arguments need the "=".
	if i := strings.LastIndexByte(strings.TrimRight(name, ":"), ':'); i > 0 {
		all = append(all, spelling{name[:i], strings.TrimRight(name[i:], ":") + "=" + value})
	}
	return all
}

// otherFamily is added to the distance of names in another family, so that names of the same family come first.
const otherFamily = 1000

// distanceOf returns the edit distance between a spelling and a known name, and whether they are similar enough. If the
// last parts are equal, the other parts may differ completely.
func distanceOf(s spelling, name string) (distance int, near bool) {
	wrong, right := strings.ToLower(s.name), strings.ToLower(name)
	distance = diagnostic.Slips(wrong, right)
	near = distance <= diagnostic.LikelySlips(lastPart(right)) || lastPart(wrong) == lastPart(right) &&
		strings.Contains(wrong, ":")
	if familyOf(wrong) != familyOf(right) {
		distance += otherFamily
	}
	return distance, near
}

func familyOf(name string) string { return name[:max(0, strings.IndexByte(name, ':'))] }

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// ArgumentsOffset returns the offset of the arguments in a marker: after "=", or after the name of the marker if the
// arguments have names.
func ArgumentsOffset(text string, definition *markers.Definition) int {
	if named := len("+" + definition.Name + ":"); strings.HasPrefix(text, "+"+definition.Name+":") &&
		!definition.AnonymousField() {
		return named
	}
	return ValueOffset(text)
}

// ValueOffset returns the offset of the value in a marker.
func ValueOffset(text string) int { return strings.IndexByte(text, '=') + 1 }

// ArgumentOffset returns the offset of a named argument in a marker, or -1. It skips quoted text.
func ArgumentOffset(text, name string) int {
	var quote byte
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\' && quote == '"':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '`':
			quote = b
		case b == ':' || b == ',':
			rest := strings.TrimLeft(text[i+1:], " ")
			if after, ok := strings.CutPrefix(rest, name); ok && strings.HasPrefix(strings.TrimLeft(after, " "), "=") {
				return len(text) - len(rest)
			}
		}
	}
	return -1
}

// ArgumentValueOffset returns the offset of the value of a named argument in a marker, or 0.
func ArgumentValueOffset(text, name string) int {
	at := ArgumentOffset(text, name)
	if at < 0 {
		return 0
	}
	return at + ValueOffset(text[at:])
}

// ExampleHint returns a hint with an example of a marker.
func ExampleHint(definition *markers.Definition) string {
	if known, ok := rowOf(definition.Name); ok {
		return "for example " + known.example
	}
	return ""
}

var argumentOffset = regexp.MustCompile(`^(.*) \(at (?:<input>:?)?(?:1:(\d+))?\)$`)

// SplitOffset removes the column in the arguments, counted from 1, from a message of the marker parser. The column is 0
// if the message has none.
func SplitOffset(message string) (string, int) {
	m := argumentOffset.FindStringSubmatch(message)
	if m == nil {
		return message, 0
	}
	column, _ := strconv.Atoi(m[2])
	return m[1], column
}
