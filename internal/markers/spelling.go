package markers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Correction says what to write instead of text, an unknown marker. What it says to write is accepted.
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
		return "the subresources are " + table["kubebuilder:subresource:status"].example + " and " + table["kubebuilder:subresource:scale"].example
	case found && ExampleHint(r.Definition(near)) != "":
		return ExampleHint(r.Definition(near))
	}
	return "remove it, or let kctrl pass over it with --allow-unknown " + diagnostic.Cut(nameIn(text))
}

// nearest returns text with the known name that is most like the one it has. Of two that are as like, one that is accepted
// counts.
func (r *Registry) nearest(text string, accepts func(fixed string) bool) (fixed string, ok bool) {
	best := -1
	for _, candidate := range spellings(text) {
		for _, name := range r.names {
			distance, near := distanceOf(candidate, name)
			written := "+" + name + candidate.rest
			better := near && (best < 0 || distance < best || distance == best && !accepts(fixed) && accepts(written))
			// What follows the name may make it that of no marker: in "+a:b:c=1", which is no "a:b" with arguments, all is the name.
			if better && r.Definition(written) != nil {
				best, fixed = distance, written
			}
		}
	}
	return fixed, best >= 0
}

// argumentAlone returns text, an unknown marker whose name ends in that of an argument, with the name of the only marker
// that has such an argument in front: +kubebuilder:singular=a is +kubebuilder:resource:singular=a.
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

// Certain returns text with the name that it must mean: the only one that differs by a slip of the keyboard, and that is
// right where the marker stands.
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

// Resembles reports whether a marker without a family, on a type or field, is one letter away from one that is known, or
// a marker with one has a misspelt family.
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

// spelling is one way to read a marker: which part of it is the name, and what follows.
type spelling struct{ name, rest string }

// spellings returns the ways to read text, a marker: everything in front of "=" is the name, or all but its last
// part, which then is an argument, or the value if the "=" is missing; or the first word is, and the others do not belong
// there.
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
	// Arguments with names are given by "=" alone.
	if i := strings.LastIndexByte(strings.TrimRight(name, ":"), ':'); i > 0 {
		all = append(all, spelling{name[:i], strings.TrimRight(name[i:], ":") + "=" + value})
	}
	return all
}

// otherFamily is what a name of another family adds to a distance: it comes after all of the same.
const otherFamily = 1000

// distanceOf tells how unlike a spelling and a known name are, and whether the one can be meant for the other. A name
// whose last part is right may be wrong everywhere else.
func distanceOf(s spelling, name string) (distance int, near bool) {
	wrong, right := strings.ToLower(s.name), strings.ToLower(name)
	distance = diagnostic.Slips(wrong, right)
	near = distance <= diagnostic.LikelySlips(lastPart(right)) || lastPart(wrong) == lastPart(right) && strings.Contains(wrong, ":")
	if familyOf(wrong) != familyOf(right) {
		distance += otherFamily
	}
	return distance, near
}

// familyOf returns what stands in front of the first colon of a name.
func familyOf(name string) string { return name[:max(0, strings.IndexByte(name, ':'))] }

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// ArgumentsOffset returns where in text, a marker, the arguments begin: behind "=", or, where they have names, behind the
// name of the marker.
func ArgumentsOffset(text string, definition *markers.Definition) int {
	if named := len("+" + definition.Name + ":"); strings.HasPrefix(text, "+"+definition.Name+":") && !definition.AnonymousField() {
		return named
	}
	return ValueOffset(text)
}

// ValueOffset returns where in text, a marker, its value begins.
func ValueOffset(text string) int { return strings.IndexByte(text, '=') + 1 }

// ArgumentOffset returns where in text, a marker, the argument with the given name stands, or -1. What is in quotes is no
// argument.
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

// ArgumentValueOffset returns where in text, a marker, the value of an argument begins; the begin of the marker without one.
func ArgumentValueOffset(text, name string) int {
	at := ArgumentOffset(text, name)
	if at < 0 {
		return 0
	}
	return at + ValueOffset(text[at:])
}

// ExampleHint shows how a marker is written.
func ExampleHint(definition *markers.Definition) string {
	if known, ok := rowOf(definition.Name); ok {
		return "for example " + known.example
	}
	return ""
}

var argumentOffset = regexp.MustCompile(`^(.*) \(at (?:<input>:?)?(?:1:(\d+))?\)$`)

// SplitOffset takes the column in the arguments, counted from 1, off a message of the marker parser. Without one it
// returns 0.
func SplitOffset(message string) (string, int) {
	m := argumentOffset.FindStringSubmatch(message)
	if m == nil {
		return message, 0
	}
	column, _ := strconv.Atoi(m[2])
	return m[1], column
}
