package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// Result is the result of a run.
type Result struct {
	Plan     Plan
	Calls    []*Call       // of the operator and the user, in order
	Events   []*Event      // that the operator received
	Logs     []string      // warnings and errors
	Rest     bool          // the operator came to rest
	Fired    []Fault       // faults whose places were reached
	Ends     []string      // processes that ended by themselves, with their errors
	Took     time.Duration // virtual time
	Refused  bool          // the server does not accept a change or the order of the user
	state    state
	remains  state                     // after the deletion of samples that were changed
	began    time.Duration             // when the user acted on the operator at rest
	atRest   []*Call                   // writes after a restart at rest
	refused  []*Call                   // requests that the role does not allow
	mutated  []string                  // modifications of cached objects
	lost     []Violation               // changes of others that a write has reverted
	absent   []*Call                   // lists and watches of kinds that the server does not serve
	broken   []Violation               // of the project's rules
	watched  map[string]bool           // targets of writes at rest, without a restart
	periodic state                     // some time later, if the operator creates objects from time to time
	resync   []*Call                   // writes after a resync at rest
	kept     string                    // why the deleted namespace still exists
	given    map[string]map[string]any // objects that existed before the operator, by path
	busy     string                    // the controller that reconciles all the time, at rest
	samples  map[string]bool           // objects of the user, as calls name them
	waits    string                    // the log line of a controller that waits for a kind, at rest
	reported bool                      // the operator sent an event after a request was rejected
}

// mostEnds is the number of processes that may end by themselves before the run starts no further one.
const mostEnds = 5

// pace has the times of a run.
type pace struct {
	quiet   time.Duration // time without activity after which a run is at rest
	longest time.Duration // limit for coming to rest
	restart time.Duration // time from a crash to the next process
	step    time.Duration // interval between checks
	watch   time.Duration // observation time at rest
	delay   time.Duration // longest delay of a fault
	settle  func()        // see gate
}

// virtual is the pace in a bubble. The longest time is above the longest backoff.
var virtual = pace{
	quiet: 20 * time.Second, longest: 30 * time.Minute, restart: time.Second, step: time.Second, watch: 10 * time.Minute,
	delay: time.Hour, settle: synctest.Wait,
}

// run carries out one plan in a synctest bubble.
type run struct {
	operator *Operator
	plan     Plan
	network  http.RoundTripper // the server's
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
	counts   map[string]int            // by target of calls and events
	objects  map[string]map[string]any // last known, by path
	latest   map[string]string         // resourceVersions in all API versions, by resource, namespace and name
	unsent   map[string]int            // events that wait for the gate, by process and kind
	hidden   map[string]time.Time      // until when a process cannot watch a kind; then it must list
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
	broken   []Violation     // of the project's rules, one of each
	failed   error           // why a rule cannot be checked
	longer   time.Duration   // the time of faults, in addition to the longest of the pace
	down     time.Time       // until then, the webhooks of the operator fail
	rewind   *rewind
	removed  chan struct{} // has a value after an object was removed
	turn     chan struct{} // full while a main function runs that has not started its manager
}

// Run carries out a plan. It must be called in a synctest bubble, whose goroutines have all ended when it returns. An
// error means that the run could not begin.
func Run(operator *Operator, plan Plan) (*Result, error) {
	return runUntil(operator, plan, new(atomic.Int64), nil)
}

// runUntil carries out a plan, and counts its steps in beats. If it comes to rest and done does not accept its state,
// it waits up to the longest backoff for another state.
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

// resyncInterval returns the interval of resyncs that the plan asks for, or 0.
func (r *run) resyncInterval() time.Duration {
	if r.plan.Resync {
		return r.pace.watch / 4
	}
	return 0
}

// exchange sends a request past the gate and returns the answer.
func (r *run) exchange(method, path string, data []byte) ([]byte, error) {
	return exchange(r.network, method, path, data)
}

// exchange sends a request to a server and returns the answer.
func exchange(server http.RoundTripper, method, path string, data []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(
		context.Background(),
		method,
		"http://in-memory"+path,
		strings.NewReader(string(data)),
	)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", mergePatch)
	}
	request.Header.Set("Accept", "application/json")
	return readAnswer(server.RoundTrip(request))
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

// fill copies what has happened until now to a result, and returns the number of calls.
func (r *run) fill(result *Result) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	result.Calls, result.Events = slices.Clone(r.calls), slices.Clone(r.events)
	result.Fired = slices.Clone(r.fired)
	return len(r.calls)
}

// restarts is the number of restarts at rest. A write that depends on chance may be absent after one of them.
const restarts = 3

// atRest watches the operator at rest and restarts it, or deletes samples that were changed. n is the number of calls
// until then.
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
	n += r.callsSince(n)
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

func (r *run) callsSince(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls) - n
}

// send sends a request of the user, past the gate, and records it.
func (r *run) send(method, path string, object *unstructured.Unstructured) error {
	return r.sendAs(r.user, method, path, object)
}

// jsonType is the content type of objects.
const jsonType = "application/json"

// mergePatch is the content type of merge patches.
const mergePatch = "application/merge-patch+json"

// sendAs sends a request of a process, past the gate, and records it.
func (r *run) sendAs(p *process, method, path string, object *unstructured.Unstructured) error {
	var data []byte
	if object != nil {
		var err error
		if data, err = object.MarshalJSON(); err != nil {
			return err
		}
	}
	return r.sendData(p, method, path, jsonType, data)
}

// attempts bounds the requests of a user whom the server answers with an internal error.
const attempts = 60

// sendData sends a request of a process, past the gate, and records it. Users repeat a request while the server cannot
// call the webhooks of an operator that has crashed.
func (r *run) sendData(p *process, method, path, contentType string, data []byte) error {
	for i := 1; ; i++ {
		err := r.sendOnce(p, method, path, contentType, data)
		failed, ok := errors.AsType[*statusError](err)
		if p != r.user || !ok || failed.code < http.StatusInternalServerError || i == attempts || r.ctx.Err() != nil {
			return err
		}
		time.Sleep(r.pace.step)
	}
}

func (r *run) sendOnce(p *process, method, path, contentType string, data []byte) error {
	request, err := http.NewRequestWithContext(
		context.Background(),
		method,
		"http://in-memory"+path,
		strings.NewReader(string(data)),
	)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", jsonType)
	call, err := newCall(p.name, r.began, request)
	if err != nil {
		return err
	}
	call.Request, call.Source = "", ""
	r.gate.touch()
	response, err := p.serve(request, call, false)
	_, err = readAnswer(response, err)
	return err
}

// start starts a process of the operator.
func (r *run) start(name string) {
	p := &process{
		name: name, run: r, user: r.operator.User, faulty: true, began: time.Now(), seen: map[string]string{},
	}
	p.ctx, p.crash = context.WithCancel(r.ctx)
	r.mu.Lock()
	r.living[name] = p
	r.mu.Unlock()
	logger := slog.New(&logHandler{lines: r.logs, alive: p.ctx})
	r.processes.Go(func() {
		err := r.operator.run(p, logger, r.plan.Replicas)
		if p.ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		if p.leaseless.IsZero() { // otherwise, it ends because it has lost its lease
			r.ends = append(r.ends, fmt.Sprintf("%s: %v", name, err))
		}
		stop := len(r.ends) > mostEnds
		r.mu.Unlock()
		if !stop {
			r.restart(p)
		}
	})
}

// restart crashes a process, and starts it again later.
func (r *run) restart(p *process) {
	p.crash()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.living[p.name] != p {
		return
	}
	r.living[p.name] = nil
	r.processes.Go(func() {
		timer := time.NewTimer(r.pace.restart)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.start(p.name)
		case <-r.ctx.Done():
		}
	})
}

// restartAll restarts the processes of the operator.
func (r *run) restartAll() {
	r.gate.touch()
	r.mu.Lock()
	var all []*process
	for _, p := range r.living {
		if p != nil {
			all = append(all, p)
		}
	}
	r.mu.Unlock()
	for _, p := range all {
		r.restart(p)
	}
}

// wait waits until the run is at rest, and reports whether it is. If done does not accept the state at rest, it waits
// longer.
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

// extra returns the time that faults have taken.
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

// record adds a call to the log and numbers it.
func (r *run) record(c *Call, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.connected = true
	c.Time, c.Source = time.Since(r.began), strings.TrimPrefix(c.Source, r.operator.Sources)
	if r.operator.Command != nil {
		c.Request, c.Source = "", "" // the proxy sent it
	}
	if c.operator = p.faulty; c.operator {
		r.counts[c.Target]++
		c.Number = r.counts[c.Target]
	}
	for key, n := range r.unsent {
		if strings.HasPrefix(key, p.name+" ") && isWrite(c.verb) {
			c.Behind += n
		}
	}
	if p.faulty && c.resource.name == "events" && isWrite(c.verb) && r.plan.has(Reject) {
		r.reported = true
	}
	if c.resource.name != "" && !c.resource.isBackground() && isWrite(c.verb) {
		r.calls = append(r.calls, c)
	}
}

// answered records the answer of a call.
func (r *run) answered(c *Call, body []byte) {
	var object map[string]any
	_ = json.Unmarshal(body, &object) // not an object: not recorded
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Status >= 300 || object == nil {
		c.Message, _ = object["message"].(string)
		return
	}
	at := c.resource
	u := &unstructured.Unstructured{Object: object}
	if object["kind"] != "Status" && u.GetName() != "" {
		at.object = u.GetName()
		c.object = object
	}
	path := at.path()
	if c.Status == http.StatusCreated && c.object != nil && at.subresource == "" {
		r.left.add(path, object)
	}
	c.before = r.objects[path]
	was := &unstructured.Unstructured{Object: c.before}
	at.version, at.subresource = "", ""
	latest := cmp.Or(r.latest[at.String()], was.GetResourceVersion())
	c.outdated = c.before != nil && latest != was.GetResourceVersion()
	if c.object != nil {
		r.latest[at.String()] = u.GetResourceVersion()
	}
	defer r.noteGarbage(c)
	switch {
	case c.verb == "delete" && (c.object == nil || u.GetDeletionTimestamp() == nil || len(u.GetFinalizers()) == 0):
		c.Changed = true
		r.removeLocked(path)
	case c.object != nil:
		r.history[path] = append(r.history[path], version{object, c.Process + " " + c.Request})
		c.Changed = c.before == nil || latest != u.GetResourceVersion()
		r.objects[path] = object
		if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 { // its version may stay the same
			c.Changed = c.Changed || c.before != nil
			r.removeLocked(path)
		}
	}
}

// removeLocked removes the object at a path, in all API versions.
func (r *run) removeLocked(path string) {
	uid := uidOf(r.objects[path])
	delete(r.objects, path)
	maps.DeleteFunc(r.objects, func(_ string, object map[string]any) bool { return uid != "" && uidOf(object) == uid })
}

// forbidden records a request that the server has refused for lack of permission.
func (r *run) forbidden(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Message == "" {
		c.Message = fmt.Sprintf("%s may not %s", r.operator.User, c.Target)
	}
	r.refused = append(r.refused, c)
}

// faultAt returns the kind of the fault at a call, and marks it as fired.
func (r *run) faultAt(target string, number int) Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.plan.Faults {
		if f.At == target && f.Number == number && !slices.Contains(r.fired, f) {
			r.fired = append(r.fired, f)
			return f.Kind
		}
		if f.At == target && f.Kind == Reject && number > f.Number {
			return f.Kind
		}
	}
	return ""
}

// eventAt numbers an event, and returns the fault there.
func (r *run) eventAt(e *Event) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[e.Target]++
	e.Number = r.counts[e.Target]
	for _, f := range r.plan.Faults {
		if f.At == e.Target && f.Number == e.Number && !slices.Contains(r.fired, f) {
			r.fired = append(r.fired, f)
			e.Fault = string(f.Kind)
			if f.Kind == Cut || f.Kind == Hide {
				r.events = append(r.events, e)
				e.Time = time.Since(r.began)
			}
			return f
		}
	}
	return Fault{}
}

func (r *run) received(e *Event, quiet bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Number > 0 && !quiet {
		r.events = append(r.events, e)
	}
}

func (r *run) sent(p *process, kind string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsent[p.name+" "+kind] += n
}

// hide makes the watches of a kind fail for a while, and then once with 410 Gone.
func (r *run) hide(p *process, kind string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hidden[p.name+" "+kind] = time.Now().Add(d)
}

// goneAt returns the time until which a watch was hidden, if it must fail with 410 Gone. It waits for that time.
func (r *run) goneAt(p *process, c *Call) *time.Time {
	r.mu.Lock()
	key := p.name + " " + c.resource.kind()
	until, hidden := r.hidden[key]
	delete(r.hidden, key)
	r.mu.Unlock()
	if !hidden {
		return nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
	return &until
}

// actOnSamples deletes the samples, and creates them again for Recreate.
func (r *run) actOnSamples(kind Kind) error {
	for _, sample := range r.operator.Samples {
		err := r.send(http.MethodDelete, r.collectionOf(sample)+"/"+sample.GetName(), nil)
		if err != nil && !isNotFound(err) {
			return err
		}
	}
	if kind != Recreate {
		return nil
	}
	for _, sample := range r.operator.Samples {
		err := r.send(http.MethodPost, r.collectionOf(sample), sample)
		if isConflict(err) { // a finalizer keeps the deleted one
			r.processes.Go(func() { r.createAgain(sample) })
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// createAgain creates a sample as soon as the deleted one is gone and the server accepts it, or until the run ends.
func (r *run) createAgain(sample *unstructured.Unstructured) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return
		}
		if err := r.send(http.MethodPost, r.collectionOf(sample), sample); err == nil || isRefused(err) {
			return
		}
	}
}

// statusError is the error of a request that the server refused.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

func isNotFound(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.code == http.StatusNotFound
}

// isRefused reports whether the server did not accept an object or a change.
func isRefused(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	refusals := []int{http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusForbidden}
	return ok && slices.Contains(refusals, e.code)
}

func isConflict(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.code == http.StatusConflict
}
