package markers

import (
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// correction says what to write instead of text, an unknown marker. What it says to write is accepted.
func (r *Registry) correction(text string, accepts func(fixed string) bool) string {
	near, found := r.nearest(text, accepts)
	if !found {
		near, found = r.argumentAlone(text, accepts)
	}
	switch {
	case found && accepts(near):
		return "write // " + cut(near)
	case near == "+kubebuilder:validation:UniqueItems=true":
		return "write // +listType=set"
	case strings.HasPrefix(text, "+kubebuilder:subresource"):
		return "the subresources are +kubebuilder:subresource:status and +kubebuilder:subresource:scale"
	case found && exampleHint(r.definition(near)) != "":
		return exampleHint(r.definition(near))
	}
	return "remove it, or let kctrl pass over it with --allow-unknown " + cut(markerName(text))
}

// nearest returns text with the known name that is most like the one it has. Of two that are as like, one that is accepted
// counts.
func (r *Registry) nearest(text string, accepts func(fixed string) bool) (fixed string, ok bool) {
	best := -1
	for _, candidate := range spellings(text) {
		for _, name := range r.names {
			distance, near := distanceOf(candidate, name)
			written := "+" + name + candidate.rest
			if near && (best < 0 || distance < best || distance == best && !accepts(fixed) && accepts(written)) {
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
	if !assigned || !ours(text) {
		return "", false
	}
	argument := lastPart(strings.TrimRight(name, ":"))
	count := 0
	for _, known := range r.names {
		definition := r.definition("+" + known)
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

// cut returns what fits in a message of a text that may be of any length.
func cut(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// certain returns text with the name that it must mean: the only one that differs by a slip of the keyboard, and that is
// right where the marker stands.
func (r *Registry) certain(at place) (fixed string, ok bool) {
	best, count := 0, 0
	for _, candidate := range spellings(at.text) {
		if candidate.rest == "" && strings.ContainsAny(at.text, " ") {
			return "", false
		}
		for _, name := range r.names {
			wrong, right := strings.ToLower(candidate.name), strings.ToLower(name)
			distance := diagnostic.Slips(wrong, right)
			if diagnostic.Slips(familyOf(wrong), familyOf(right)) > 2 || distance > 1+len(lastPart(right))/4 {
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
	definition := r.definition(fixed)
	if !slices.Contains(countsAnywhere, definition.Name) {
		definition = r.Lookup(fixed, at.target)
	}
	if definition == nil || at.node == nil && !slices.Contains(countsAnywhere, definition.Name) {
		return "", false
	}
	_, err := definition.Parse(fixed)
	return fixed, err == nil
}

// resembles reports whether a marker without a family, on a type or field, is one letter away from one that is known, or
// a marker with one has a misspelt family.
func (r *Registry) resembles(at place) bool {
	name := markerName(at.text)[1:]
	if family := familyOf(name); family != "" && diagnostic.Slips(family, "kubebuilder") <= 2 {
		return true
	}
	if strings.ContainsAny(name, ":./ ") || at.owner == nil {
		return false
	}
	return slices.ContainsFunc(r.names, func(known string) bool {
		return len(known) > len("default") && !strings.Contains(known, ":") && diagnostic.Slips(strings.ToLower(name), strings.ToLower(known)) <= 1
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
	if i := strings.LastIndexByte(strings.TrimRight(name, ":"), ':'); i > 0 {
		all = append(all, spelling{name[:i], text[1+i:]})
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
	near = distance <= 1+len(lastPart(right))/4 || lastPart(wrong) == lastPart(right) && strings.Contains(wrong, ":")
	if familyOf(wrong) != familyOf(right) {
		distance += otherFamily
	}
	return distance, near
}

// familyOf returns what stands in front of the first colon of a name.
func familyOf(name string) string { return name[:max(0, strings.IndexByte(name, ':'))] }

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
