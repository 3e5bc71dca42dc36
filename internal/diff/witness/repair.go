package witness

import (
	"context"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// repair returns an object similar to the one of a request that the lenient server accepts and for which keep returns
// true. It returns nil if no change to the rejected parts leads to such an object. If same is true, each object
// replaces an equal one.
func (f *Finder) repair(
	ctx context.Context, r Request, same bool, keep func(object map[string]any) bool,
) map[string]any {
	root := change.SchemaOf(change.Version(f.lenient.crd, r.Version))
	type attempt struct {
		object   map[string]any
		problems []sample.Problem
		score    int
	}
	budget, considered := mostRepairs, 0
	write := func(object map[string]any) (attempt, bool) {
		budget--
		if r.Object = object; same {
			r.Before = object
		}
		got := f.lenient.Write(r)
		problems := slices.Concat(got.Refused, got.Dropped)
		return attempt{object, problems, score(problems)}, got.accepts()
	}
	first, ok := write(r.Object)
	if ok {
		return first.object
	}
	queue, seen := []attempt{first}, map[string]bool{keyOf(first.object): true}
	for len(queue) > 0 && budget > 0 && considered <= mostConsidered && ctx.Err() == nil {
		from := queue[0]
		queue = queue[1:]
		var better []attempt
		for _, steps := range placesOf(from.problems) {
			for object := range f.around(root, from.object, steps) {
				if considered++; budget <= 0 || considered > mostConsidered {
					break
				}
				key := keyOf(object)
				if seen[key] || !keep(object) {
					continue
				}
				seen[key] = true
				next, ok := write(object)
				if ok {
					return object
				}
				better = append(better, next)
			}
			if slices.ContainsFunc(better, func(a attempt) bool { return a.score < from.score }) {
				break
			}
		}
		slices.SortStableFunc(better, func(a, b attempt) int { return a.score - b.score })
		queue = append(better[:min(len(better), mostBranches)], queue...)
		slices.SortStableFunc(queue, func(a, b attempt) int { return a.score - b.score })
	}
	return nil
}

// score orders objects by their problems. Servers do not evaluate rules if values are invalid.
func score(problems []sample.Problem) int {
	sum := 0
	for _, p := range problems {
		sum++
		if p.Code != sample.CodeRule {
			sum += 100
		}
	}
	return sum
}

// mostConsidered is the maximum number of objects in a repair, including those that are not sent to a server.
const mostConsidered = 4 * mostRepairs

// mostBranches is the maximum number of objects that one repair keeps of those that it creates.
const mostBranches = 12

// placesOf returns the fields of problems, followed by their parents.
func placesOf(problems []sample.Problem) [][]string {
	var all [][]string
	seen := map[string]bool{}
	for up := range 3 {
		for _, p := range problems[:min(len(problems), 3)] {
			steps := sample.Steps(p.Field)
			steps = steps[:max(len(steps)-up, 0)]
			if key := keyOf(steps); !seen[key] {
				seen[key] = true
				all = append(all, steps)
			}
		}
	}
	return all
}

// around yields objects that differ from an object at a place, according to the rules there.
func (f *Finder) around(root *props, object map[string]any, steps []string) func(yield func(map[string]any) bool) {
	return func(yield func(map[string]any) bool) {
		s := schemaAt(root, steps)
		value, there := get(object, steps)
		if s == nil || !there {
			return
		}
		var rules []string
		for _, r := range s.XValidations {
			rules = append(rules, r.Rule)
		}
		if logic := keyOf([][]props{s.AllOf, s.AnyOf, s.OneOf}); len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 {
			rules = append(rules, logic)
		}
		h := f.make.hintsOf(rules...)
		depth := min(len(steps), 1)
		for v := range f.make.neighbours(s, value, h, depth) {
			next, ok := f.make.place(root, object, steps, v, true)
			if ok && !yield(next) {
				return
			}
		}
	}
}
