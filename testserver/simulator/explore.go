package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reference has the runs without faults, with which others are compared.
type Reference struct {
	First   *Result
	Again   *Result         // with the same seed
	Deleted *Result         // the user deletes the samples at rest
	masks   map[string]bool // fields that differ between seeds, by kind and path
}

// Writes returns the number of writes of the operator that changed an object.
func (r *Reference) Writes() int {
	n := 0
	for _, call := range r.First.Calls {
		if call.operator && call.Changed {
			n++
		}
	}
	return n
}

// Options configure [Explore].
type Options struct {
	Seed     uint64
	Plans    int           // the maximum number of plans; 0 means all
	Budget   time.Duration // of real time; 0 means no limit
	Parallel int           // the number of plans that run at a time; 0 means the number of cores
	Only     []string      // groups of faults; empty means all
	Disabled []string      // names of invariants
	Progress func(done, planned int)
}

// Report is the result of [Explore].
type Report struct {
	Reference *Reference
	Planned   int
	Run       int
	Took      time.Duration
	Failures  []Failure
}

// Failure is a plan whose run violates invariants.
type Failure struct {
	Plan       Plan
	Result     *Result
	Violations []Violation
}

// Stuck is called with a [*StuckError] if a run makes no progress. The run cannot be ended, so Stuck must end the
// process.
var Stuck = func(err error) { panic(err) }

// inBubble runs f in a synctest bubble of a subtest. A deadlock of the bubble is an error.
func inBubble(t *testing.T, sources string, f func(beats *atomic.Int64) error) (err error) {
	var beats atomic.Int64
	defer watch(&beats, sources, Stuck)()
	t.Run("plan", func(t *testing.T) {
		defer func() {
			if problem := recover(); problem != nil {
				err = fmt.Errorf("the simulation cannot end: %v", problem)
			}
		}()
		synctest.Test(t, func(*testing.T) { err = f(&beats) })
	})
	return err
}

// runIn carries out a plan in a bubble, or with a command in real time.
func runIn(t *testing.T, operator *Operator, plan Plan, done func(state) bool) (result *Result, err error) {
	if operator.Command != nil {
		return runUntil(operator, plan, new(atomic.Int64), done)
	}
	err = inBubble(t, operator.Sources, func(beats *atomic.Int64) error {
		result, err = runUntil(operator, plan, beats, done)
		return err
	})
	return result, err
}

// Learn carries out the runs without faults.
func Learn(t *testing.T, operator *Operator, seed uint64) (*Reference, error) {
	if err := operator.chooseControllers(t, seed); err != nil {
		return nil, err
	}
	r := &Reference{masks: map[string]bool{}}
	other := &Result{}
	for _, run := range []struct {
		to   **Result
		plan Plan
	}{
		{&r.First, Plan{Seed: seed}}, {&r.Again, Plan{Seed: seed}},
		{&other, Plan{Seed: seed + 1}}, {&r.Deleted, Plan{Seed: seed, Then: Delete}},
	} {
		result, err := runIn(t, operator, run.plan, nil)
		if err != nil {
			return nil, err
		}
		*run.to = result
	}
	for { // each difference between seeds is masked
		d := compare(r.First.state, other.state, r.masks)
		if d == nil || d.field == "" {
			return r, nil
		}
		kind, _, _ := strings.Cut(d.object, " ")
		r.masks[kind+d.field] = true
	}
}

// chooseControllers adds fake controllers until a run creates no object that needs another one.
func (o *Operator) chooseControllers(t *testing.T, seed uint64) error {
	for {
		result, err := runIn(t, o, Plan{Seed: seed, Then: Delete}, nil)
		if err != nil {
			return err
		}
		needed := controllersFor(result.Calls)
		if slices.Equal(needed, o.controllers) {
			return nil
		}
		o.controllers = needed
	}
}

// Plans returns the plans for a reference, in a fixed order. only are groups of faults; empty means all.
func Plans(reference *Reference, seed uint64, only []string) []Plan {
	var all []Plan
	add := func(f Fault) {
		if len(only) == 0 || slices.Contains(only, kinds[f.Kind].group) {
			all = append(all, Plan{Seed: seed, Faults: []Fault{f}})
		}
	}
	order := slices.Sorted(maps.Keys(kinds))
	for _, call := range reference.First.Calls {
		if !call.operator || !call.Changed {
			continue // a write without effect does not matter
		}
		for _, kind := range order {
			where := kinds[kind].where
			if where == atWrite || where == atUser || where == atUpdate && call.verb == "update" {
				add(Fault{Kind: kind, At: call.Target, Number: call.Number})
			}
		}
	}
	for _, event := range reference.First.Events {
		for _, kind := range order {
			if kinds[kind].where == atEvent {
				add(
					Fault{Kind: kind, At: event.Target, Number: event.Number, For: metav1.Duration{Duration: kinds[kind].delay}},
				)
			}
		}
	}
	return append(all, pairs(all, seed)...)
}

// pairs returns plans with a crash and a second fault.
func pairs(single []Plan, seed uint64) []Plan {
	var all []Plan
	for _, a := range single {
		if kinds[a.Faults[0].Kind].group != "crash" {
			continue
		}
		for _, b := range single {
			if kinds[b.Faults[0].Kind].where == atEvent && b.Faults[0].Kind != Cut {
				all = append(all, Plan{Seed: seed, Faults: []Fault{a.Faults[0], b.Faults[0]}})
			}
		}
	}
	return all
}

// Explore carries out the plans for an operator, concurrently, and checks their results. An error means that the
// operator could not be simulated.
func Explore(t *testing.T, operator *Operator, opts Options) (*Report, error) {
	began := time.Now()
	reference, err := Learn(t, operator, opts.Seed)
	if err != nil {
		return nil, err
	}
	report := &Report{Reference: reference}
	for _, result := range []*Result{reference.First, reference.Deleted} {
		v := Check(operator, reference, result, opts.Disabled)
		if operator.Command != nil && len(v) > 0 {
			var failure *Failure
			if failure, err = try(t, operator, reference, result.Plan, opts.Disabled); err != nil {
				return nil, err
			}
			if failure == nil {
				continue
			}
			result, v = failure.Result, failure.Violations
		}
		if len(v) > 0 {
			report.Failures = append(report.Failures, Failure{result.Plan, result, v})
		}
	}
	plans := Plans(reference, opts.Seed, opts.Only)
	if operator.Command != nil {
		operator.Command.shorten(plans)
	}
	if opts.Plans > 0 && len(plans) > opts.Plans {
		plans = plans[:opts.Plans]
	}
	report.Planned = len(plans)
	known := map[string]bool{}
	for _, f := range report.Failures {
		for _, v := range f.Violations {
			known[v.Invariant+v.Message] = true
		}
	}
	var next, done atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range cmp.Or(opts.Parallel, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(plans) || operator.context().Err() != nil || opts.Budget > 0 && time.Since(began) > opts.Budget {
					return
				}
				failure, runErr := try(t, operator, reference, plans[i], opts.Disabled)
				mu.Lock()
				if runErr != nil && err == nil {
					err = fmt.Errorf("%s: %w", plans[i].Faults[0], runErr)
				}
				if failure != nil {
					failure.Violations = slices.DeleteFunc(
						failure.Violations,
						func(v Violation) bool { return known[v.Invariant+v.Message] },
					)
					if len(failure.Violations) > 0 {
						report.Failures = append(report.Failures, *failure)
					}
				}
				report.Run++
				mu.Unlock()
				if opts.Progress != nil {
					opts.Progress(int(done.Add(1)), len(plans))
				}
			}
		})
	}
	workers.Wait()
	report.Took = time.Since(began)
	slices.SortStableFunc(report.Failures, func(a, b Failure) int { return len(a.Plan.Faults) - len(b.Plan.Faults) })
	return report, err
}

// try carries out one plan and returns its failure, or nil. In real time a slow machine can delay a process, so a
// failure counts if it happens twice.
func try(t *testing.T, operator *Operator, reference *Reference, plan Plan, disabled []string) (*Failure, error) {
	failure, err := tryOnce(t, operator, reference, plan, disabled)
	if failure == nil || err != nil || operator.Command == nil {
		return failure, err
	}
	again, err := tryOnce(t, operator, reference, plan, disabled)
	if again == nil || err != nil {
		return nil, err
	}
	again.Violations = slices.DeleteFunc(again.Violations, func(v Violation) bool {
		return !slices.ContainsFunc(failure.Violations, func(first Violation) bool { return first.Invariant == v.Invariant })
	})
	if len(again.Violations) == 0 {
		return nil, nil
	}
	return again, nil
}

// tryOnce carries out one plan and returns its failure, or nil.
func tryOnce(t *testing.T, operator *Operator, reference *Reference, plan Plan, disabled []string) (*Failure, error) {
	want := reference.First.state
	if plan.deletes() {
		want = reference.Deleted.state
	}
	result, err := runIn(t, operator, plan, func(got state) bool { return compare(want, got, reference.masks) == nil })
	if err != nil {
		return nil, err
	}
	if v := Check(operator, reference, result, disabled); len(v) > 0 {
		return &Failure{plan, result, v}, nil
	}
	return nil, nil
}

// Replay carries out one plan and checks it.
func Replay(t *testing.T, operator *Operator, plan Plan, disabled []string) (*Report, error) {
	began := time.Now()
	reference, err := Learn(t, operator, plan.Seed)
	if err != nil {
		return nil, err
	}
	report := &Report{Reference: reference, Planned: 1, Run: 1}
	failure, err := try(t, operator, reference, plan, disabled)
	if failure != nil {
		report.Failures = append(report.Failures, *failure)
	}
	report.Took = time.Since(began)
	return report, err
}
