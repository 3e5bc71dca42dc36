package simulator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
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

// Reference has the results of the runs without faults. The results of other runs are compared with them.
type Reference struct {
	First   *Result
	Again   *Result         // with the same seed
	Deleted *Result         // the user deletes the samples at rest
	Others  []*Result       // the user recreates, changes or rolls back samples
	masks   map[string]bool // fields that differ between seeds or times, by kind and path; kinds whose objects differ
	samples int
	elects  bool // two replicas can be simulated
	command bool // the operator is a process in real time
	hooked  bool // the server calls the operator's webhooks
	movable bool // the samples can be created in another namespace
}

// has reports whether the operator can be simulated with a kind of fault.
func (r *Reference) has(kind Kind) bool {
	switch kind {
	case LoseLease:
		return r.elects
	case WebhookDown:
		return r.hooked && !r.command
	case Terminate:
		return r.movable && !r.command
	case Jump:
		return !r.command
	}
	return true
}

// of returns the result without faults with which a plan's result is compared.
func (r *Reference) of(plan Plan) *Result {
	if plan.deletes() {
		return r.Deleted
	}
	for _, other := range r.Others {
		if other.Plan.Then == plan.Then && other.Plan.Change.equal(plan.Change) && plan.Change != nil && !plan.has(Change) {
			return other
		}
	}
	return r.First
}

// created returns the result of the run in which the user creates the samples with a change, or nil.
func (r *Reference) created(e *Edit) *Result {
	for _, other := range r.Others {
		if other.Plan.Then == "" && other.Plan.Change.equal(e) {
			return other
		}
	}
	return nil
}

// Writes returns the number of the operator's writes that changed an object.
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
	Plans    int           // maximum number of plans; 0 means all
	Budget   time.Duration // limit of real time; 0 means no limit
	Parallel int           // number of plans that run at a time; 0 means the number of cores
	Only     []string      // groups of faults; empty means all
	Disabled []string      // names of invariants
	First    bool          // start no plan after the first failure
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
	Similar    int    // further failures with the same first cause
	Also       []Plan // the smallest of these failures' plans for each other class of faults
}

// Stuck is called with a [*StuckError] if a run makes no progress. Such a run cannot be stopped, so Stuck must end the
// process.
var Stuck = func(err error) { panic(err) }

// inBubble runs f in a synctest bubble of a subtest. It returns an error if the bubble deadlocks, except if only
// goroutines of a main function remain: in reality, they would end with their process.
func inBubble(t *testing.T, operator *Operator, f func(beats *atomic.Int64) error) (err error) {
	var beats atomic.Int64
	defer watch(&beats, operator.Sources, Stuck)()
	t.Run("plan", func(t *testing.T) {
		ended := false
		defer func() {
			if problem := recover(); problem != nil && !(ended && operator.Main != nil) {
				err = fmt.Errorf("the simulation cannot end: %v", problem)
			}
		}()
		synctest.Test(t, func(*testing.T) {
			err = f(&beats)
			ended = true
		})
	})
	return err
}

// runIn carries out a plan in a bubble, or in real time if the operator is a command.
func runIn(t *testing.T, operator *Operator, plan Plan, done func(state) bool) (result *Result, err error) {
	if operator.Command != nil {
		if err := context.Cause(operator.Command.Context); err != nil {
			return nil, err
		}
		return runUntil(operator, plan, new(atomic.Int64), done)
	}
	err = inBubble(t, operator, func(beats *atomic.Int64) error {
		result, err = runUntil(operator, plan, beats, done)
		return err
	})
	return result, err
}

// Learn carries out the runs without faults and returns their results.
func Learn(t *testing.T, operator *Operator, seed uint64) (*Reference, error) {
	r, err := learnFirst(t, operator, seed)
	if err != nil || !r.First.Rest {
		return r, err
	}
	return r, r.learnOthers(t, operator, seed)
}

// learnFirst carries out the runs in which the user only creates or deletes the samples.
func learnFirst(t *testing.T, operator *Operator, seed uint64) (*Reference, error) {
	if err := operator.findSamples(); err != nil {
		return nil, err
	}
	if err := operator.chooseControllers(t, seed); err != nil {
		return nil, err
	}
	r := &Reference{
		masks: map[string]bool{}, samples: len(operator.Samples), elects: operator.elects(),
		command: operator.Command != nil, hooked: len(operator.Webhooks) > 0 || operator.converts(),
		movable: operator.canMove(),
	}
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
	r.mask(other.state, false)
	if r.First.periodic != nil {
		r.mask(r.First.periodic, true)
	}
	return r, nil
}

// mask masks the fields that differ between the first run and another state. If kinds is true, it also masks the kinds
// whose objects differ.
func (r *Reference) mask(other state, kinds bool) {
	for d := range differences(r.First.state, other, r.masks) {
		if kind, _, _ := strings.Cut(d.object, " "); d.field == "" && kinds {
			r.masks[kind] = true
		}
	}
}

// numbers matches digits in names, which may be a time.
var numbers = regexp.MustCompile(`[0-9]+`)

// isPeriodic reports whether the operator makes such a write periodically, because it creates objects at certain times.
// The names of these objects differ only in numbers.
func (r *Reference) isPeriodic(call *Call) bool {
	if r.First.periodic == nil {
		return false
	}
	for target := range r.First.watched {
		if numbers.ReplaceAllString(target, "#") == numbers.ReplaceAllString(call.Target, "#") {
			return true
		}
	}
	return false
}

// learnOthers carries out the runs in which the user acts when the operator is at rest. It skips changes that the
// server rejects, and changes after which the operator does not come to rest.
func (r *Reference) learnOthers(t *testing.T, operator *Operator, seed uint64) error {
	again, err := runIn(t, operator, Plan{Seed: seed, Then: Recreate}, nil)
	if err != nil {
		return err
	}
	r.Others = append(r.Others, again)
	if operator.Command == nil {
		resynced, err := runIn(t, operator, Plan{Seed: seed, Resync: true}, nil)
		if err != nil {
			return err
		}
		r.Others = append(r.Others, resynced)
	}
	for _, edit := range operator.edits() {
		var results []*Result
		for _, then := range []Kind{"", Change, Rollback} {
			result, err := runIn(t, operator, Plan{Seed: seed, Then: then, Change: edit}, nil)
			if err != nil {
				return err
			}
			if result.Refused || !result.Rest {
				break
			}
			results = append(results, result)
		}
		if len(results) == 3 {
			r.Others = append(r.Others, results...)
		}
	}
	return nil
}

// chooseControllers adds fake controllers until a run creates no object that needs a further fake controller.
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

// Plans returns the plans for a reference, in a fixed order. only selects groups of faults; empty means all except
// reject.
func Plans(reference *Reference, seed uint64, only []string) []Plan {
	wanted := func(kind Kind) bool {
		group := kinds[kind].group
		return reference.has(kind) && (len(only) == 0 && group != "reject" || slices.Contains(only, group))
	}
	writes, events := faultsIn(reference.First, Plan{Seed: seed}, wanted)
	groups := [][]Plan{writes, events}
	if reference.samples > 1 && wanted(Slow) {
		groups = append(groups, []Plan{{Seed: seed, Create: Slow}, {Seed: seed, Create: Reverse}})
	}
	if wanted(Terminate) {
		groups = append(groups, []Plan{{Seed: seed, Then: Terminate}})
	}
	for _, result := range append([]*Result{reference.Deleted}, reference.Others...) {
		switch result.Plan.Then {
		case Delete, Recreate, Rollback:
			later, late := faultsIn(result, result.Plan, wanted)
			groups = append(groups, later, late)
		case Change: // also before the operator is at rest
			if wanted(Change) {
				groups = append(groups, changesIn(reference.First, result.Plan))
			}
		}
	}
	return append(inTurns(groups), pairs(slices.Concat(writes, events), seed)...)
}

// inTurns interleaves the plans of all groups, so that a limited budget covers each group.
func inTurns(groups [][]Plan) []Plan {
	var all []Plan
	for i := 0; ; i++ {
		n := len(all)
		for _, group := range groups {
			if i < len(group) {
				all = append(all, group[i])
			}
		}
		if len(all) == n {
			return all
		}
	}
}

// later has the groups of faults that are injected after the user has acted at rest.
var later = []string{"crash", "lost", "conflict", "stale"}

// faultsIn returns the plans with one fault at a write or at an event of a run. If the user acts at rest, it considers
// only later writes and events.
func faultsIn(result *Result, base Plan, wanted func(Kind) bool) (writes, events []Plan) {
	order := slices.Sorted(maps.Keys(kinds))
	add := func(all []Plan, kind Kind, target string, number int) []Plan {
		f := Fault{Kind: kind, At: target, Number: number}
		if kinds[kind].where == atEvent {
			f.For = metav1.Duration{Duration: kinds[kind].delay}
		}
		plan := base
		if plan.Faults = []Fault{f}; kind == LoseLease {
			plan.Replicas = 2
		}
		if wanted(kind) {
			all = append(all, plan)
		}
		return all
	}
	for _, call := range result.Calls {
		if !call.operator || !call.Changed || call.Time < result.began {
			continue // a fault at a write without effect tests nothing
		}
		for _, kind := range order {
			where := kinds[kind].where
			if kind == Change || base.Then != "" && !slices.Contains(later, kinds[kind].group) {
				continue
			}
			if where == atWrite || where == atUser || where == atUpdate && call.verb == "update" ||
				where == atChild && !result.isSample(call) && base.Then == "" {
				writes = add(writes, kind, call.Target, call.Number)
			}
		}
	}
	for _, event := range result.Events {
		if event.Time < result.began {
			continue
		}
		for _, kind := range order {
			where := kinds[kind].where
			if base.Then != "" && !slices.Contains(later, kinds[kind].group) && kind != Hide {
				continue
			}
			if where == atEvent || where == atPast && base.Then != "" && base.Then != Delete && result.isSampleEvent(event) {
				events = add(events, kind, event.Target, event.Number)
			}
		}
	}
	return writes, events
}

// isSample reports whether a call is about an object that the user has created.
func (r *Result) isSample(call *Call) bool {
	return r.samples[call.resource.whole().String()]
}

// isSampleEvent reports whether an event is about an object that the user has created.
func (r *Result) isSampleEvent(e *Event) bool {
	fields := strings.Fields(e.Target) // event, resource, type, object
	return len(fields) == 4 && r.samples[fields[1]+" "+fields[3]]
}

// changesIn returns the plans in which the user makes a change before each write of a run.
func changesIn(result *Result, base Plan) []Plan {
	var all []Plan
	for _, call := range result.Calls {
		if call.operator && call.Changed {
			plan := base
			plan.Then, plan.Faults = "", []Fault{{Kind: Change, At: call.Target, Number: call.Number}}
			all = append(all, plan)
		}
	}
	return all
}

// pairs returns plans with a crash and a second fault.
func pairs(single []Plan, seed uint64) []Plan {
	var all []Plan
	for _, a := range single {
		if len(a.Faults) == 0 || kinds[a.Faults[0].Kind].group != "crash" {
			continue
		}
		for _, b := range single {
			if len(b.Faults) == 1 && kinds[b.Faults[0].Kind].where == atEvent && b.Faults[0].Kind != Cut {
				all = append(all, Plan{Seed: seed, Faults: []Fault{a.Faults[0], b.Faults[0]}})
			}
		}
	}
	return all
}

// Explore carries out the plans for an operator concurrently, checks the results, and returns a report. An error means
// that the operator could not be simulated.
func Explore(t *testing.T, operator *Operator, opts Options) (*Report, error) {
	began := time.Now()
	reference, err := learnFirst(t, operator, opts.Seed)
	if err != nil {
		return nil, err
	}
	report := &Report{Reference: reference}
	known := len(Check(operator, reference, reference.First, opts.Disabled)) > 0
	if reference.First.Rest && !(opts.First && known) {
		if err := reference.learnOthers(t, operator, opts.Seed); err != nil {
			return nil, err
		}
	}
	for _, result := range append([]*Result{reference.First, reference.Deleted}, reference.Others...) {
		v := Check(operator, reference, result, opts.Disabled)
		if len(v) > 0 && operator.Command != nil { // a violation counts only if it happens twice
			again, err := tryOnce(t, operator, reference, result.Plan, opts.Disabled)
			if err != nil {
				return nil, err
			}
			if again == nil {
				continue
			}
			result, v = again.Result, again.Violations
		}
		if len(v) > 0 {
			report.Failures = append(report.Failures, Failure{Plan: result.Plan, Result: result, Violations: v})
		}
	}
	if len(report.Failures) > 0 && (opts.First || !reference.First.Rest) {
		report.Took = time.Since(began) // an operator that does not come to rest has no end state for comparisons
		return report, nil
	}
	plans := Plans(reference, opts.Seed, opts.Only)
	if operator.Command != nil {
		operator.Command.shorten(plans)
	}
	if opts.Plans > 0 && len(plans) > opts.Plans {
		plans = plans[:opts.Plans]
	}
	report.Planned = len(plans)
	reported := map[string]bool{}
	for _, f := range report.Failures {
		for _, v := range f.Violations {
			reported[v.Invariant+v.Message] = true
		}
	}
	var next, done atomic.Int64
	var failed atomic.Bool
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range operator.parallel(opts.Parallel) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				ended := opts.Budget > 0 && time.Since(began) > opts.Budget || operator.context().Err() != nil
				if i >= len(plans) || ended || opts.First && failed.Load() {
					return
				}
				failure, runErr := Try(t, operator, reference, plans[i], opts.Disabled)
				mu.Lock()
				if runErr != nil && err == nil {
					err = fmt.Errorf("%s: %w", plans[i].describe(), runErr)
				}
				if failure != nil {
					failure.Violations = slices.DeleteFunc(failure.Violations,
						func(v Violation) bool { return reported[v.Invariant+v.Message] })
					if len(failure.Violations) > 0 {
						report.Failures = append(report.Failures, *failure)
						failed.Store(true)
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
	slices.SortStableFunc(report.Failures, func(a, b Failure) int { return a.Plan.size() - b.Plan.size() })
	report.Failures = distinct(report.Failures)
	for i := range report.Failures {
		if err == nil && (opts.Budget == 0 || time.Since(began) < opts.Budget) {
			err = minimize(t, operator, reference, &report.Failures[i], opts.Disabled)
		}
	}
	report.Took = time.Since(began)
	return report, err
}

// parallel returns the number of plans that run at a time. For a main function it is 1, because all processes share the
// package variables.
func (o *Operator) parallel(wanted int) int {
	if o.Main != nil {
		return 1
	}
	return cmp.Or(wanted, runtime.GOMAXPROCS(0))
}

// Try carries out one plan and returns its failure, or nil. It ignores violations of the invariants that disabled
// names. In real time, a slow machine can delay a process, so Try returns a failure only if it happens twice.
func Try(t *testing.T, operator *Operator, reference *Reference, plan Plan, disabled []string) (*Failure, error) {
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
	want := reference.want(plan)
	result, err := runIn(t, operator, plan, func(got state) bool {
		return plan.has(Reject) || plan.Then == Terminate || differs(operator, reference, plan, want, got) == nil
	})
	if err != nil {
		return nil, err
	}
	if v := Check(operator, reference, result, disabled); len(v) > 0 {
		return &Failure{Plan: plan, Result: result, Violations: v}, nil
	}
	return nil, nil
}

// Replay carries out one plan, checks its result, and returns a report.
func Replay(t *testing.T, operator *Operator, plan Plan, disabled []string) (*Report, error) {
	began := time.Now()
	reference, err := Learn(t, operator, plan.Seed)
	if err != nil {
		return nil, err
	}
	report := &Report{Reference: reference, Planned: 1, Run: 1}
	failure, err := Try(t, operator, reference, plan, disabled)
	if failure != nil {
		report.Failures = append(report.Failures, *failure)
	}
	report.Took = time.Since(began)
	return report, err
}
