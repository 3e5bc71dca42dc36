package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Violation describes how a run violates an invariant.
type Violation struct {
	Invariant string `json:"invariant"` // name of the row in Invariants, or of a rule of the project
	Message   string `json:"message"`
	Call      *Call  `json:"call,omitempty"` // call that violates the invariant
}

// violation returns a violation by a call, which is nil if no call is the cause.
func violation(call *Call, format string, values ...any) Violation {
	return Violation{Message: fmt.Sprintf(format, values...), Call: call}
}

// Invariant is a property of every correct operator.
type Invariant struct {
	Name string
	// Rule is a sentence that states the property.
	Rule  string
	check func(*comparison) []Violation
}

// comparison is the input of an invariant.
type comparison struct {
	operator  *Operator
	reference *Reference
	result    *Result
}

// Invariants has all invariants, in the order of reports: the first violation explains the later ones.
var Invariants = []Invariant{
	{"runs", "the operator starts, and no process ends by itself", checkRuns},
	{"allowed", "the operator's role allows each of its requests", checkAllowed},
	{"converges", "the operator comes to rest", checkRest},
	{"rules", "the rules of the project hold", func(c *comparison) []Violation { return c.result.broken }},
	{"busy", "at rest, the operator reconciles each of the user's objects less than once a second", checkBusy},
	{"restart", "a restart at rest writes nothing", checkRestart},
	{"resync", "a further reconcile at rest writes nothing", checkResync},
	{"cache", "the operator does not modify objects that it shares with its cache", checkCache},
	{"spec", "the operator does not change the spec of the user's objects", checkSpec},
	{"generation", "observedGeneration neither decreases nor exceeds the generation", checkGeneration},
	{"foreign", "the operator neither deletes nor overwrites objects that other clients created", checkForeign},
	{"blind", "an update without a resourceVersion does not revert the change of another write", checkBlind},
	{"state", "the end state is the same as in the run without faults", checkState},
	{"creations", "each object is created as often as without faults", checkCreations},
	{"leak", "after the user's objects are deleted, the operator's objects are gone", checkLeak},
	{"namespace", "after the deletion of the namespace of the user's objects, it is gone", checkNamespace},
	{"path", "after a change of the spec, the operator's objects equal those of a new sample with that spec", checkPath},
	{"rollback", "after a change of the spec and back, the end state is the same as before the change", checkRollback},
	{"unused", "a change of the spec has an effect outside the spec", checkUnused},
	{"silent", "the status or an event reports a request that the server rejects", checkSilent},
	{"deterministic", "two runs without faults write the same", checkDeterministic},
}

// Check returns the violations of a run, except violations of the invariants and rules that disabled names.
func Check(operator *Operator, reference *Reference, result *Result, disabled []string) []Violation {
	c := &comparison{operator, reference, result}
	var all []Violation
	for _, i := range Invariants {
		if slices.Contains(disabled, i.Name) {
			continue
		}
		for _, v := range i.check(c) {
			v.Invariant = cmp.Or(v.Invariant, i.Name)
			if !slices.Contains(disabled, v.Invariant) {
				all = append(all, v)
			}
		}
	}
	return all
}

func checkRuns(c *comparison) []Violation {
	var all []Violation
	if kind := missingKind(c.result.Logs); kind != "" && len(c.result.Ends) > 0 {
		all = append(all, absent(kind))
	}
	for _, end := range slices.Compact(slices.Clone(c.result.Ends)) {
		all = append(all, violation(nil, "the process ended: %s", end))
	}
	if c.result.waits != "" {
		all = append(all, violation(nil, "a controller does not start: %s", c.result.waits))
	}
	for _, call := range c.result.absent {
		all = append(all, absent(call.resource.kind()))
	}
	return all
}

func absent(kind string) Violation {
	return violation(nil, "the operator waits for %s, a kind that the server does not have; "+
		"definitions of other projects belong in config/sim", kind)
}

// noMatch matches the error of a RESTMapper for a kind that the server does not have.
var noMatch = regexp.MustCompile(`no matches for kind "([^"]+)" in version "([^"]+)"`)

// missingKind returns the first kind that logs report as missing, or "".
func missingKind(logs []string) string {
	for _, line := range logs {
		if found := noMatch.FindStringSubmatch(line); found != nil {
			return found[1] + " of " + found[2]
		}
	}
	return ""
}

func checkAllowed(c *comparison) []Violation {
	var all []Violation
	seen := map[string]bool{}
	for _, call := range c.result.refused {
		if !seen[call.Target] {
			seen[call.Target] = true
			all = append(all, Violation{Message: call.Message, Call: call})
		}
	}
	return all
}

func checkRest(c *comparison) []Violation {
	if c.result.Rest || c.result.kept != "" {
		return nil
	}
	return []Violation{violation(nil, "the operator still writes after %s; the last write is %s", c.result.Took,
		lastWrite(c.result.Calls))}
}

func lastWrite(calls []*Call) string {
	for _, call := range slices.Backward(calls) {
		if call.operator {
			return call.Target
		}
	}
	return "none"
}

func checkRestart(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.atRest {
		if c.reference.isPeriodic(call) {
			continue
		}
		message := "the restarted operator writes, although nothing has changed: " + call.Target
		if d := diff("", "", call.before, call.object, nil); call.before != nil && d != nil {
			d.object = call.resource.String()
			message += fmt.Sprintf(" (%s from %s to %s)", d.field, inJSON(d.want), inJSON(d.got))
		}
		all = append(all, Violation{Message: message, Call: call})
	}
	return all
}

func checkSpec(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.Calls {
		if !call.operator || !call.Changed || call.before == nil || call.outdated || call.object == nil ||
			!c.result.isSample(call) {
			continue
		}
		// A status update cannot change the spec.
		if call.resource.subresource == "status" || call.isBasedOnAnother() {
			continue
		}
		if d := diff("", ".spec", call.before["spec"], call.object["spec"], nil); d != nil {
			all = append(all, violation(call, "%s changes %s of the user's object from %s to %s", call.Target, d.field,
				inJSON(d.want), inJSON(d.got)))
		}
	}
	return all
}

// isBasedOnAnother reports whether an update replaces a version of the object other than before. In real time, the
// response to the write of that version may be recorded later than the update.
func (c *Call) isBasedOnAnother() bool {
	sent, before := &unstructured.Unstructured{}, &unstructured.Unstructured{Object: c.before}
	return c.verb == "update" && sent.UnmarshalJSON(c.sent) == nil && sent.GetResourceVersion() != "" &&
		sent.GetResourceVersion() != before.GetResourceVersion()
}

// sampleNames returns the samples in the form of call targets.
func (o *Operator) sampleNames() map[string]bool {
	all := map[string]bool{}
	for _, u := range o.Samples {
		r, _ := parsePath(collectionOf(o, u) + "/" + u.GetName()) // a path of an object has a resource
		all[r.String()] = true
	}
	return all
}

func checkBusy(c *comparison) []Violation {
	if c.result.busy == "" {
		return nil
	}
	return []Violation{
		violation(nil, "the controller %s reconciles all the time, although nothing changes", c.result.busy),
	}
}

func checkCache(c *comparison) []Violation {
	var all []Violation
	for _, text := range c.result.mutated[:min(1, len(c.result.mutated))] {
		all = append(all, Violation{Message: text})
	}
	return all
}

func checkBlind(c *comparison) []Violation { return c.result.lost }

func checkGeneration(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.Calls {
		if !call.operator || !call.Changed || call.object == nil {
			continue
		}
		u := &unstructured.Unstructured{Object: call.object}
		observed, found, _ := unstructured.NestedInt64(call.object, "status", "observedGeneration")
		if !found {
			continue
		}
		if generation := u.GetGeneration(); observed > generation {
			all = append(all, violation(call, "%s sets observedGeneration %d, the generation is %d", call.Target, observed,
				generation))
		}
		was := &unstructured.Unstructured{Object: call.before}
		before, _, _ := unstructured.NestedInt64(call.before, "status", "observedGeneration")
		if call.before != nil && was.GetUID() == u.GetUID() && observed < before && !c.result.Plan.has(Rewind) {
			all = append(all, violation(call, "%s sets observedGeneration back from %d to %d", call.Target, before, observed))
		}
	}
	return all
}

// checkForeign finds deletions of samples without a UID precondition while events had not reached the operator,
// deletions of objects that existed before the operator, and writes that change fields which these objects had.
func checkForeign(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.Calls {
		if !call.operator || !call.Changed || call.before == nil || call.outdated {
			continue
		}
		at := call.resource.whole()
		given := c.result.given[at.path()]
		text := ""
		switch {
		case call.verb == "delete" && given != nil:
			text = "deletes an object that existed before the operator"
		case call.verb == "delete" && c.result.isSample(call) && call.Behind > 0 &&
			!strings.Contains(string(call.sent), `"uid"`):
			text = fmt.Sprintf(
				"has no UID precondition, and %d events are on their way: it may delete a new object of that name", call.Behind)
		case given != nil && call.object != nil && !settings[at.group]:
			if field := overwritten("", given, call.before, call.object); field != "" {
				text = "overwrites " + field + " of an object that existed before the operator"
			}
		}
		if text != "" {
			all = append(all, violation(call, "%s %s", call.Target, text))
		}
	}
	return all
}

// settings has the API groups of objects that an operator may complete, for example with the certificates of its
// webhooks.
var settings = map[string]bool{"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true}

// overwritten returns the path of a field that has its given value before a call and another value after it, or "".
func overwritten(path string, given, before, after any) string {
	if unequal[path] || path == ".status" || path == ".metadata.ownerReferences" {
		return ""
	}
	fields, isMap := given.(map[string]any)
	if !isMap {
		if inJSON(given) == inJSON(before) && inJSON(given) != inJSON(after) {
			return path
		}
		return ""
	}
	b, _ := before.(map[string]any) // nil, without any given field, if the value is not an object
	a, _ := after.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if field := overwritten(path+"."+key, fields[key], b[key], a[key]); field != "" {
			return field
		}
	}
	return ""
}

func checkState(c *comparison) []Violation {
	plan := c.result.Plan
	if !c.result.Rest || c.result.Refused || plan.has(Change) || plan.has(Reject) || plan.Then == Terminate {
		return nil
	}
	if d := differs(c.operator, c.reference, plan, c.reference.want(plan), c.result.state); d != nil {
		return []Violation{violation(lastWriteOf(c.result.Calls, d.object), "%s", d)}
	}
	return nil
}

// lastWriteOf returns the operator's last write to an object of a state, or nil.
func lastWriteOf(calls []*Call, key string) *Call {
	for _, call := range slices.Backward(calls) {
		if call.operator && call.resource.whole().String() == key {
			return call
		}
	}
	return nil
}

func checkCreations(c *comparison) []Violation {
	plan := c.result.Plan
	if len(plan.Faults) == 0 || plan.deletes() || plan.recreates() != plan.has(Rewind) || plan.has(Change) {
		return nil
	}
	want, got := creations(c.reference.of(plan)), creations(c.result)
	if plan.Then == Recreate {
		want = creations(c.reference.Others[0])
	}
	var all []Violation
	for _, target := range slices.Sorted(maps.Keys(got)) {
		if c.reference.isPeriodic(got[target][0]) {
			continue
		}
		if n, m := len(want[target]), len(got[target]); m > n {
			all = append(all, violation(got[target][m-1], "%s succeeds %d times; without the fault %d times", target, m, n))
		}
	}
	return all
}

// creations returns the operator's successful creations, by target.
func creations(r *Result) map[string][]*Call {
	all := map[string][]*Call{}
	for _, call := range r.Calls {
		if call.operator && (call.verb == "create" || call.verb == "patch" && call.Status == 201) && call.Changed &&
			call.resource.subresource == "" {
			all[call.Target] = append(all[call.Target], call)
		}
	}
	return all
}

func checkLeak(c *comparison) []Violation {
	if !c.result.Plan.deletes() {
		return nil
	}
	var all []Violation
	for _, key := range slices.Sorted(maps.Keys(c.result.state)) {
		if call := creatorOf(c.result.Calls, key); call != nil && !c.result.wasGiven(key) {
			all = append(all, violation(call, "%s is still there", key))
		}
	}
	return all
}

// wasGiven reports whether an object of a state existed before the operator.
func (r *Result) wasGiven(key string) bool {
	for path := range r.given {
		if at, ok := parsePath(path); ok && at.String() == key {
			return true
		}
	}
	return false
}

// creatorOf returns the operator's first write that created an object, or nil.
func creatorOf(calls []*Call, key string) *Call {
	for _, call := range calls {
		if call.operator && call.Changed && call.before == nil && call.resource.String() == key {
			return call
		}
	}
	return nil
}

func checkDeterministic(c *comparison) []Violation {
	if c.result != c.reference.First {
		return nil
	}
	again := c.reference.Again
	for i, call := range c.reference.First.Calls {
		if i >= len(again.Calls) || again.Calls[i].Target != call.Target {
			return nil // another order; with the same seed, the order is the same unless the program behaves randomly
		}
		if call.resource.kind() == "secrets" {
			continue // passwords and keys are random
		}
		if d := diff(call.resource.kind(), "", call.object, again.Calls[i].object, nil); d != nil {
			return []Violation{violation(call, "%s writes %s %s, and in the same run again %s", call.Target, d.field,
				inJSON(d.want), inJSON(d.got))}
		}
	}
	return nil
}
