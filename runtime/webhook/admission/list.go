package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

// lists are two states of a list, which are slices.
type lists struct {
	before, after reflect.Value
	diff          func(d *differ, before, after reflect.Value) // adds the operations that change an element
}

func (l lists) equal(i, j int) bool {
	return reflect.DeepEqual(l.before.Index(i).Interface(), l.after.Index(j).Interface())
}

// alike returns how much an old and a new element have in common. Zero means nothing. A negative result means that they
// are certainly different elements.
func (l lists) alike(i, j int) int   { return alikeValues(l.before.Index(i), l.after.Index(j)) }
func (l lists) oldName(i int) string { return nameOf(l.before.Index(i)) }
func (l lists) newName(j int) string { return nameOf(l.after.Index(j)) }

// list adds the operations that change the old list at the path to the new one. It matches elements that have something
// in common, even if others were inserted or removed, so that each element keeps its unknown fields.
func (d *differ) list(l lists) {
	elements := wire.Elements(d.here())
	if elements == nil || len(elements) != l.before.Len() {
		d.encode(l.after.Interface()) // the document's list differs from the Go value
		return
	}
	of, moved := l.pair()
	kept := make([]bool, len(elements))
	for _, i := range of {
		if i >= 0 {
			kept[i] = true
		}
	}
	for i, keep := range slices.Backward(kept) { // from the end, so that the other indexes stay valid
		if !keep {
			d.path = append(d.path, step{name: strconv.Itoa(i), element: i})
			d.remove()
			d.leave()
		}
	}
	for j, i := range of { // all elements before j are final
		if i >= 0 {
			d.path = append(d.path, step{name: strconv.Itoa(j), element: i, text: elements[i], known: true})
			if !l.equal(i, j) {
				l.diff(d, l.before.Index(i), l.after.Index(j))
			}
			d.leave()
			continue
		}
		value, err := l.value(j, moved[j], elements)
		if err != nil {
			d.fail(err)
			return
		}
		d.ops = append(d.ops, Operation{Op: "add", Path: d.pointer(len(d.path)-1) + "/" + strconv.Itoa(j),
			Value: json.RawMessage(value)})
	}
}

// value returns the JSON of a new element. If from is not -1, this is the JSON of the old element from, changed.
func (l lists) value(j, from int, elements [][]byte) ([]byte, error) {
	switch {
	case from < 0:
		return marshal(l.after.Index(j))
	case l.equal(from, j):
		return elements[from], nil
	}
	d := newDiffer(elements[from])
	l.diff(d, l.before.Index(from), l.after.Index(j))
	if d.err != nil {
		return nil, d.err
	}
	return apply(elements[from], d.ops)
}

// maxPairs limits pairwise comparison of changed elements to fifty times fifty. Others are matched by index.
const maxPairs = 2_500

// pair returns two slices with an entry for each new element. of has the old element at the same relative position, in
// ascending order, or -1. For the others, moved has the old element that has moved to this position, or -1.
func (l lists) pair() (of, moved []int) {
	start, oldEnd, newEnd := 0, l.before.Len(), l.after.Len()
	of = slices.Repeat([]int{-1}, newEnd)
	moved = slices.Clone(of)
	for start < min(oldEnd, newEnd) && l.equal(start, start) {
		of[start] = start
		start++
	}
	for oldEnd > start && newEnd > start && l.equal(oldEnd-1, newEnd-1) {
		oldEnd--
		newEnd--
		of[newEnd] = oldEnd
	}
	olds, news := span(start, oldEnd), span(start, newEnd)
	l.pairMatches(of, moved, olds, news)
	l.pairMoved(of, moved, olds, news)
	return of, moved
}

// span returns the numbers from start to end-1.
func span(start, end int) (all []int) {
	for k := start; k < end; k++ {
		all = append(all, k)
	}
	return all
}

// pairStretch pairs elements so that the pairs have as much in common as possible.
func (l lists) pairStretch(of, olds, news []int) {
	n, m := len(olds), len(news)
	if n == 0 || m == 0 {
		return
	}
	if n == 1 && m == 1 || n*m > maxPairs { // a single changed element; or too many for pairwise comparison
		least := 0
		if n != m {
			least = 1 // other elements are between them
		}
		for k := range min(n, m) {
			if l.alike(olds[k], news[k]) >= least {
				of[news[k]] = olds[k]
			}
		}
		return
	}
	// best[a][b] is the highest score of the elements from old element a and new element b on.
	best, score := make([][]int, n+1), make([][]int, n)
	best[n] = make([]int, m+1)
	for a := n - 1; a >= 0; a-- {
		best[a], score[a] = make([]int, m+1), make([]int, m)
		for b := m - 1; b >= 0; b-- {
			score[a][b] = l.alike(olds[a], news[b])
			best[a][b] = max(best[a+1][b], best[a][b+1])
			if score[a][b] > 0 {
				best[a][b] = max(best[a][b], best[a+1][b+1]+score[a][b])
			}
		}
	}
	for a, b := 0, 0; a < n && b < m; {
		switch {
		case score[a][b] > 0 && best[a][b] == best[a+1][b+1]+score[a][b]:
			of[news[b]] = olds[a]
			a++
			b++
		case best[a][b] == best[a+1][b]:
			a++
		default:
			b++
		}
	}
}

// pairMatches first pairs elements with equal names and equal elements, and then pairs the elements between them.
func (l lists) pairMatches(of, moved, olds, news []int) {
	matched := l.matches(olds, news)
	from := make([]int, 0, len(matched)) // old elements of matched, in the order of the new ones
	for _, j := range news {
		if i, ok := matched[j]; ok {
			from = append(from, i)
		}
	}
	taken, inPlace := sets.New(from...), sets.New(ascending(from)...)
	var between []int // new elements without a match since the last pair
	next := 0         // index in olds of the next old element
	gap := func(end int) {
		var free []int
		for ; next < len(olds) && olds[next] != end; next++ {
			if !taken.Has(olds[next]) {
				free = append(free, olds[next])
			}
		}
		l.pairStretch(of, free, between)
		between = nil
		next++
	}
	for _, j := range news {
		switch i, ok := matched[j]; {
		case !ok:
			between = append(between, j)
		case inPlace.Has(i):
			gap(i)
			of[j] = i
		default:
			moved[j] = i
		}
	}
	gap(-1)
}

// matches maps new to old elements that have the same unique name, or that are equal and have no name.
func (l lists) matches(olds, news []int) map[int]int {
	matched := map[int]int{}
	byName := func(names func(int) string, all []int) map[string]int {
		of := map[string]int{}
		for _, k := range all {
			name := names(k)
			if _, twice := of[name]; twice {
				k = -1
			}
			of[name] = k
		}
		return of
	}
	oldNames, newNames := byName(l.oldName, olds), byName(l.newName, news)
	same := map[string][]int{}
	for _, i := range olds {
		if l.oldName(i) == "" {
			if text, err := marshal(l.before.Index(i)); err == nil {
				same[string(text)] = append(same[string(text)], i)
			}
		}
	}
	for _, j := range news {
		name := l.newName(j)
		if name == "" {
			text, err := marshal(l.after.Index(j))
			if all := same[string(text)]; err == nil && len(all) > 0 {
				matched[j], same[string(text)] = all[0], all[1:]
			}
			continue
		}
		if i, ok := oldNames[name]; ok && i >= 0 && newNames[name] == j {
			matched[j] = i
		}
	}
	return matched
}

// ascending returns the first of the longest ascending subsequences of distinct numbers, in reverse order.
func ascending(numbers []int) []int {
	var ends []int                      // indexes in numbers of the ends of the best subsequences by length
	before := make([]int, len(numbers)) // predecessor of each number in its subsequence
	last := -1
	for k, number := range numbers {
		at := sort.Search(len(ends), func(n int) bool { return numbers[ends[n]] >= number })
		before[k] = -1
		if at > 0 {
			before[k] = ends[at-1]
		}
		if at == len(ends) {
			ends, last = append(ends, k), k
		} else {
			ends[at] = k
		}
	}
	var part []int
	for k := last; k >= 0; k = before[k] {
		part = append(part, numbers[k])
	}
	return part
}

// pairMoved finds the old elements of new elements that are not paired yet. It first pairs equal elements, then
// elements with the same name, and then elements that have more in common with each other than with any other element.
func (l lists) pairMoved(of, moved, olds, news []int) {
	used := sets.New(of...).Insert(moved...)
	left := func() {
		olds = slices.DeleteFunc(olds, used.Has)
		news = slices.DeleteFunc(news, func(j int) bool { return of[j] >= 0 || moved[j] >= 0 })
	}
	take := func(i, j int) {
		moved[j] = i
		used.Insert(i)
	}
	left()
	for j, i := range l.matches(olds, news) {
		take(i, j)
	}
	left()
	if len(olds)*len(news) > maxPairs {
		return
	}
	for _, j := range news {
		if n := slices.IndexFunc(olds, func(i int) bool { return !used.Has(i) && l.equal(i, j) }); n >= 0 {
			take(olds[n], j)
		}
	}
	left()
	favourite := func(all []int, alike func(k int) int) int {
		best, most := -1, 0
		for _, k := range all {
			switch score := alike(k); {
			case score > most:
				best, most = k, score
			case score == most:
				best = -1 // ambiguous
			}
		}
		return best
	}
	for _, j := range slices.Clone(news) {
		i := favourite(olds, func(i int) int { return l.alike(i, j) })
		if i >= 0 && favourite(news, func(j int) int { return l.alike(i, j) }) == j {
			take(i, j)
			left()
		}
	}
}

// nameOf returns the name of an element, or "".
func nameOf(v reflect.Value) string {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	for _, member := range []string{"name", "Name"} {
		var name reflect.Value
		switch {
		case v.Kind() == reflect.Struct:
			if field, ok := v.Type().FieldByName(member); ok && field.IsExported() && len(field.Index) == 1 {
				name = v.FieldByIndex(field.Index)
			}
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			name = v.MapIndex(reflect.ValueOf(member).Convert(v.Type().Key()))
		}
		for name.IsValid() && (name.Kind() == reflect.Pointer || name.Kind() == reflect.Interface) {
			name = name.Elem()
		}
		if name.IsValid() && name.Kind() == reflect.String && name.Len() > 0 {
			return name.String()
		}
	}
	return ""
}

// sameName is the score of equal names. API lists are merged by name.
const sameName = 100

// alikeValues returns how much two elements have in common: equal non-empty members, and above all an equal name.
func alikeValues(a, b reflect.Value) int {
	for a.IsValid() && b.IsValid() && (a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface) &&
		a.Kind() == b.Kind() {
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

// alikeStructs returns how much two structs have in common. It is negative if their names differ.
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

// alikeMaps does for maps what alikeStructs does for structs.
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

// isName reports whether a member of that name identifies the elements of a list.
func isName(member string) bool { return member == "name" || member == "Name" }
