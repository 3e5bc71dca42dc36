package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Result is the outcome of a run.
type Result struct {
	Plan     Plan
	Calls    []*Call       // of the operator and the user, in order
	Events   []*Event      // received by the operator
	Logs     []string      // warnings and errors
	Rest     bool          // the operator came to rest
	Fired    []Fault       // faults whose places were reached
	Ends     []string      // processes that ended by themselves, with their errors
	Took     time.Duration // virtual time
	Refused  bool          // the server rejects the user's change or order of creation
	state    state
	remains  state                     // after the deletion of the changed samples
	began    time.Duration             // when the user acted on the operator at rest
	atRest   []*Call                   // writes after a restart at rest
	refused  []*Call                   // requests that the role does not allow
	mutated  []string                  // modifications of cached objects
	lost     []Violation               // writes that revert changes of other clients
	absent   []*Call                   // lists and watches of kinds that the server does not serve
	broken   []Violation               // violations of the project's rules
	watched  map[string]bool           // targets of writes at rest, without a restart
	periodic state                     // state some time later, if the operator creates objects periodically
	resync   []*Call                   // writes after a resync at rest
	kept     string                    // reason why the deleted namespace still exists
	given    map[string]map[string]any // objects that existed before the operator, by path
	busy     string                    // controller that reconciles continually at rest
	samples  map[string]bool           // the user's objects, in the form of call targets
	waits    string                    // log line of a controller that waits for a kind at rest
	reported bool                      // the operator sent an event after a request was rejected
}

// mostEnds is the number of processes that may end by themselves. After more ends, the run starts no further process.
const mostEnds = 5

// pace has the durations that control a run.
type pace struct {
	quiet   time.Duration // time without activity after which a run is at rest
	longest time.Duration // limit for coming to rest
	restart time.Duration // time from a crash to the next process
	step    time.Duration // interval between checks
	watch   time.Duration // observation time at rest
	delay   time.Duration // longest delay of a fault
	settle  func()        // see the field of gate
}

// virtual is the pace in a bubble. longest exceeds the longest backoff.
var virtual = pace{
	quiet: 20 * time.Second, longest: 30 * time.Minute, restart: time.Second, step: time.Second, watch: 10 * time.Minute,
	delay: time.Hour, settle: synctest.Wait,
}

// run carries out one plan, in a synctest bubble unless the operator is a command.
type run struct {
	operator *Operator
	plan     Plan
	network  http.RoundTripper // transport to the server
	gate     *gate
	pace     pace
	began    time.Time
	ctx      context.Context // ends with the run
	user     *process
	logs     *logLines
	left     *leftovers

	streams   sync.WaitGroup
	processes sync.WaitGroup

	mu       sync.Mutex
	calls    []*Call
	refused  []*Call
	events   []*Event
	counts   map[string]int            // numbers of calls and events, by target
	objects  map[string]map[string]any // last known states, by path
	latest   map[string]string         // resourceVersions in all API versions, by resource, namespace and name
	unsent   map[string]int            // events that wait for the gate, by process and kind
	hidden   map[string]time.Time      // end of the time in which a process cannot watch a kind; then it must list
	fired    []Fault
	ends     []string
	ended    bool
	living   map[string]*process
	given    map[string]map[string]any
	history  map[string][]version // last versions of objects, by path
	mutants  []string
	lost     []Violation
	absent   map[string]*Call
	reported bool
	scheme   *runtime.Scheme // of the operator; nil before its setup
	broken   []Violation     // of the project's rules, one for each rule
	failed   error           // reason why a rule cannot be checked
	longer   time.Duration   // total delay of faults, which extends the limit of the pace
	down     time.Time       // the operator's webhooks fail until this time
	rewind   *rewind
	removed  chan struct{} // has a value after an object was removed
	turn     chan struct{} // full while a main function has not yet started its manager
}

// runUntil carries out a plan, and counts its steps in beats. If the run comes to rest in a state that done does not
// accept, runUntil waits up to the longest backoff for another state. All goroutines that it starts have ended when it
// returns. An error means that the run could not begin.
func runUntil(operator *Operator, plan Plan, beats *atomic.Int64, done func(state) bool) (*Result, error) {
	left := operator.leftovers()
	network, closeServer, given, err := operator.newServer(plan.Seed, left)
	if err != nil {
		return nil, errors.Join(err, left.delete())
	}
	defer closeServer()
	pace := operator.pace()
	ctx, cancel := context.WithCancel(operator.context())
	r := &run{
		operator: operator, plan: plan, network: network, pace: pace, gate: newGate(plan.Seed, beats, pace.settle),
		began: time.Now(), ctx: ctx, logs: &logLines{began: time.Now()}, counts: map[string]int{},
		objects: maps.Clone(given), latest: map[string]string{}, unsent: map[string]int{},
		hidden: map[string]time.Time{}, living: map[string]*process{}, given: given,
		history: map[string][]version{}, absent: map[string]*Call{},
		removed: make(chan struct{}, 1), turn: make(chan struct{}, 1), left: left,
	}
	for path, object := range given {
		r.history[path] = []version{{object: object}}
	}
	r.user = &process{name: "user", run: r, ctx: ctx}
	if plan.Then == Terminate {
		if _, err := r.exchange(http.MethodPost, "/api/v1/namespaces", samplesNamespace); err != nil {
			cancel()
			return nil, errors.Join(err, left.delete())
		}
	}
	var gate sync.WaitGroup
	opened, closeGate := context.WithCancel(context.Background())
	gate.Go(func() { r.gate.run(opened) })
	r.startCluster()
	result, err := r.drive(done)
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	cancel()
	r.processes.Wait()
	r.streams.Wait()
	closeGate()
	gate.Wait()
	return result, errors.Join(err, left.delete())
}

// resyncInterval returns the interval of resyncs, or 0 if the plan has no resyncs.
func (r *run) resyncInterval() time.Duration {
	if r.plan.Resync {
		return r.pace.watch / 4
	}
	return 0
}

// drive starts the operator, creates the samples, acts as the plan defines and waits until the operator is at rest.
func (r *run) drive(done func(state) bool) (*Result, error) {
	for i := range max(1, r.plan.Replicas) {
		r.start(fmt.Sprintf("operator-%d", i))
	}
	r.wait(nil)
	if err := r.connected(); err != nil {
		return nil, err
	}
	result := &Result{Plan: r.plan}
	if err := r.createSamples(); err != nil {
		if !isRefused(err) || r.plan.Change == nil && r.plan.Create == "" {
			return nil, err
		}
		result.Refused = true
	}
	if r.plan.Then != "" {
		r.wait(nil)
		result.began = time.Since(r.began)
		err := r.act()
		if result.Refused = isRefused(err); err != nil && !result.Refused {
			return nil, err
		}
	}
	result.Rest = r.wait(done)
	if r.goBack() {
		result.Rest = r.wait(done)
	}
	state, err := r.state()
	if err != nil {
		return nil, err
	}
	result.state, result.Took = state, time.Since(r.began)
	if result.Rest && !r.plan.has(Reject) {
		r.checkRules(nil)
	}
	if r.plan.Then == Terminate {
		result.kept = r.kept()
	}
	n := r.fill(result)
	if len(r.plan.Faults) == 0 {
		if err := r.atRest(result, n); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	result.Ends, result.refused = slices.Clone(r.ends), slices.Clone(r.refused)
	result.mutated, result.lost, result.reported = slices.Clone(r.mutants), slices.Clone(r.lost), r.reported
	result.broken = slices.Clone(r.broken)
	for _, kind := range slices.Sorted(maps.Keys(r.absent)) {
		result.absent = append(result.absent, r.absent[kind])
	}
	result.given, result.Logs, result.samples = r.given, r.logs.all(), r.sampleNames()
	return result, r.failed
}

// fill copies the calls and events until now to a result, and returns the number of calls.
func (r *run) fill(result *Result) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	result.Calls, result.Events = slices.Clone(r.calls), slices.Clone(r.events)
	result.Fired = slices.Clone(r.fired)
	return len(r.calls)
}

// restarts is the number of restarts at rest. There are several, because a random write may be absent after one of
// them.
const restarts = 3

// atRest observes the operator at rest and restarts it, or deletes changed samples. n is the number of calls until
// then.
func (r *run) atRest(result *Result, n int) error {
	switch {
	case r.plan.Change != nil && !result.Refused:
		if err := r.actOnSamples(Delete); err != nil {
			return err
		}
		r.wait(nil)
		var err error
		result.remains, err = r.state()
		return err
	case r.plan.Then != "" || !result.Rest:
		return nil
	}
	before := r.reconciles()
	time.Sleep(r.pace.watch)
	writes := r.writesSince(n)
	if r.plan.Resync {
		result.resync = writes
		return nil
	}
	result.watched = map[string]bool{}
	for _, c := range writes {
		result.watched[c.Target] = true
		if c.verb == "create" && result.periodic == nil {
			var err error
			if result.periodic, err = r.state(); err != nil {
				return err
			}
		}
	}
	for controller, n := range r.reconciles() {
		if float64(n-before[controller]) > r.pace.watch.Seconds()*float64(max(1, len(r.operator.Samples))) {
			result.busy = controller
		}
	}
	if result.busy != "" {
		return nil
	}
	result.waits = r.logs.waiting()
	r.mu.Lock()
	n = len(r.calls)
	r.mu.Unlock()
	for range restarts {
		r.restartAll()
		r.wait(nil)
	}
	result.atRest = r.writesSince(n)
	return nil
}

// writesSince returns the writes of the operator that changed an object, after the first n calls.
func (r *run) writesSince(n int) []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*Call
	for _, c := range r.calls[n:] {
		if isWrite(c.verb) && !c.resource.isBackground() && c.operator && c.Changed {
			all = append(all, c)
		}
	}
	return all
}

// wait waits until the run is at rest, and reports whether it came to rest. If done does not accept the state at rest,
// wait waits longer.
func (r *run) wait(done func(state) bool) bool {
	end := time.Now().Add(r.pace.longest)
	for time.Now().Before(end.Add(r.extra())) && r.ctx.Err() == nil {
		idle := r.idle()
		if idle < r.pace.quiet {
			time.Sleep(min(r.pace.quiet-idle, r.pace.step))
			continue
		}
		if done == nil {
			return true
		}
		if state, err := r.state(); err == nil && done(state) {
			return true
		}
		time.Sleep(r.pace.quiet)
		if r.idle() >= r.pace.longest/2 {
			return true
		}
	}
	return r.idle() >= r.pace.quiet
}

// extra returns the total delay of the faults.
func (r *run) extra() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.longer
}

// idle returns the time since the last activity. A program that has not sent a request yet is active.
func (r *run) idle() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.living {
		starting := p == nil || !p.connected && time.Since(p.began) < startTime
		if r.operator.Command != nil && len(r.ends) <= mostEnds && starting {
			return 0
		}
	}
	return r.gate.idle()
}
