package admission

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

// lists are two states of a list, of which only elements are known by their index.
type lists struct {
	before, after int // how many elements
	equal         func(i, j int) bool
	// alike says how much an element and a new one have in common; zero is nothing, and less that they are not the same one.
	alike   func(i, j int) int
	diff    func(i, j int) // adds what brings one element to another one
	encoded func(j int) ([]byte, error)
	whole   any // the new list
}

// list brings the list at the path to its new state. Elements are known again where they are the same or have something in
// common, whatever came or went around them, so that each keeps what the Go type does not know of it.
func (d *differ) list(l lists) {
	elements := wire.Elements(d.here())
	if elements == nil || len(elements) != l.before {
		d.encode(l.whole) // the document has another list than the Go value
		return
	}
	of, moved := l.pair()
	kept := make([]bool, l.before)
	for _, i := range of {
		if i >= 0 {
			kept[i] = true
		}
	}
	for i := l.before - 1; i >= 0; i-- { // from the end, so that the others keep their places
		if !kept[i] {
			d.element(strconv.Itoa(i), i)
			d.remove()
			d.leave()
		}
	}
	for j, i := range of { // all before j are as they will be
		if i >= 0 {
			d.path = append(d.path, step{name: strconv.Itoa(j), element: i, text: elements[i], known: true})
			if !l.equal(i, j) {
				l.diff(i, j)
			}
			d.leave()
			continue
		}
		value, err := l.encoded(j)
		if err != nil {
			d.fail(err)
			return
		}
		if from := moved[j]; from >= 0 {
			value = elements[from]
		}
		d.ops = append(d.ops, Operation{Op: "add", Path: d.pointer(len(d.path)-1) + "/" + strconv.Itoa(j), Value: json.RawMessage(value)})
	}
}

// maxPairs bounds the work of pairing: two changed stretches of fifty elements each. In longer ones elements are known by
// their index.
const maxPairs = 2_500

// pair returns for each new element the old one that it was made of, in ascending order, or -1; and for each of the others the
// old one that it equals and that has another place, or -1.
func (l lists) pair() (of, moved []int) {
	of, moved = make([]int, l.after), make([]int, l.after)
	for j := range of {
		of[j], moved[j] = -1, -1
	}
	start := 0
	for start < min(l.before, l.after) && l.equal(start, start) {
		of[start] = start
		start++
	}
	oldEnd, newEnd := l.before, l.after
	for oldEnd > start && newEnd > start && l.equal(oldEnd-1, newEnd-1) {
		oldEnd--
		newEnd--
		of[newEnd] = oldEnd
	}
	l.pairStretch(of, start, oldEnd, newEnd)
	used := map[int]bool{}
	for _, i := range of {
		used[i] = true
	}
	if (oldEnd-start)*(newEnd-start) > maxPairs {
		return of, moved
	}
	for j := start; j < newEnd; j++ {
		for i := start; i < oldEnd && of[j] < 0; i++ {
			if !used[i] && l.equal(i, j) {
				moved[j], used[i] = i, true
				break
			}
		}
	}
	return of, moved
}

// pairStretch pairs the elements from start on, such that the pairs have as much in common as they can.
func (l lists) pairStretch(of []int, start, oldEnd, newEnd int) {
	n, m := oldEnd-start, newEnd-start
	if n == 0 || m == 0 {
		return
	}
	if n == 1 && m == 1 || n*m > maxPairs { // one that changed; or too many to look at each with each
		for k := range min(n, m) {
			if l.alike(start+k, start+k) >= 0 {
				of[start+k] = start + k
			}
		}
		return
	}
	// best[a][b] is the most that the elements from a and b on have in common.
	best, score := make([][]int, n+1), make([][]int, n)
	best[n] = make([]int, m+1)
	for a := n - 1; a >= 0; a-- {
		best[a], score[a] = make([]int, m+1), make([]int, m)
		for b := m - 1; b >= 0; b-- {
			score[a][b] = l.alike(start+a, start+b)
			best[a][b] = max(best[a+1][b], best[a][b+1])
			if score[a][b] > 0 {
				best[a][b] = max(best[a][b], best[a+1][b+1]+score[a][b])
			}
		}
	}
	for a, b := 0, 0; a < n && b < m; {
		switch {
		case score[a][b] > 0 && best[a][b] == best[a+1][b+1]+score[a][b]:
			of[start+b] = start + a
			a++
			b++
		case best[a][b] == best[a+1][b]:
			a++
		default:
			b++
		}
	}
}

// sameName is what it counts that two elements have the same name, which lists of the API are merged by.
const sameName = 100

// alikeValues says how much two elements have in common: members that are the same and say something, and their name above
// all.
func alikeValues(a, b reflect.Value) int {
	for a.IsValid() && b.IsValid() && (a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface) && a.Kind() == b.Kind() {
		a, b = a.Elem(), b.Elem()
	}
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return 0
	}
	switch a.Kind() {
	case reflect.Struct:
		return alikeStructs(a, b)
	case reflect.Map:
		return alikeMaps(a, b)
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return sameName
	}
	return 0
}

// alikeStructs says how much two structs have in common; two that have names of their own are not the same one.
func alikeStructs(a, b reflect.Value) (score int) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		x, y := a.Field(i), b.Field(i)
		switch same := reflect.DeepEqual(x.Interface(), y.Interface()); {
		case !isName(field.Name):
			if same && !x.IsZero() {
				score++
			}
		case same && !x.IsZero():
			score += sameName
		case !x.IsZero() && !y.IsZero():
			return -1
		}
	}
	return score
}

// alikeMaps is alikeStructs for maps.
func alikeMaps(a, b reflect.Value) (score int) {
	if a.Type().Key().Kind() != reflect.String {
		return 0
	}
	for iter := a.MapRange(); iter.Next(); {
		other := b.MapIndex(iter.Key())
		if !other.IsValid() {
			continue
		}
		switch same := reflect.DeepEqual(iter.Value().Interface(), other.Interface()); {
		case !isName(iter.Key().String()):
			if same {
				score++
			}
		case same:
			score += sameName
		default:
			return -1
		}
	}
	return score
}

// isName reports whether members of that name tell the elements of a list apart.
func isName(member string) bool { return member == "name" || member == "Name" }
