package markers

import "strings"

// correction says what to write instead of text, an unknown marker.
func (r *Registry) correction(text string) string {
	if fixed, ok := r.nearest(text); ok {
		return "write // " + fixed
	}
	prefix := markerName(text)
	return "remove it, or let kctrl pass over it with --allow-unknown " + prefix
}

// nearest returns text with the known name that is most like the one it has.
func (r *Registry) nearest(text string) (fixed string, ok bool) {
	best := -1
	for _, candidate := range spellings(text) {
		for _, name := range r.names {
			distance, near := distanceOf(candidate, name)
			if near && (best < 0 || distance < best) {
				best, fixed = distance, "+"+name+candidate.rest
			}
		}
	}
	return fixed, best >= 0
}

// spelling is one way to read a marker: which part of it is the name, and what follows.
type spelling struct{ name, rest string }

// spellings returns the ways to read text, a marker: everything in front of "=" is the name, or all but its last
// part, which then is an argument; or the first word is, and the others do not belong there.
func spellings(text string) []spelling {
	name, value, assigned := strings.Cut(text[1:], "=")
	if first, _, spaced := strings.Cut(name, " "); spaced {
		return []spelling{{name: first}}
	}
	if !assigned {
		return []spelling{{name: strings.TrimRight(name, ":")}}
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
	distance = editDistance(wrong, right)
	near = distance <= 1+len(lastPart(right))/4 || lastPart(wrong) == lastPart(right) && strings.Contains(right, ":")
	if firstPart(wrong) != firstPart(right) {
		distance += otherFamily
	}
	return distance, near
}

func firstPart(name string) string { return name[:strings.IndexByte(name+":", ':')] }

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// editDistance returns how many letters have to be inserted, deleted, replaced or swapped with their neighbour to make
// b of a.
func editDistance(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := above[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(above[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
