package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Violation is an invariant that a run violates.
type Violation struct {
	Invariant string `json:"invariant"` // the name of its row in Invariants
	Message   string `json:"message"`
	Call      *Call  `json:"call,omitempty"` // the call that violates it
}

// Invariant is a property of every correct operator.
type Invariant struct {
	Name string
	// Rule is the property in a sentence.
	Rule  string
	check func(*comparison) []Violation
}

// comparison has what an invariant reads.
type comparison struct {
	operator  *Operator
	reference *Reference
	result    *Result
}

// Invariants are all invariants, in the order of reports: the first that fails explains the later ones.
var Invariants = []Invariant{
	{"runs", "the operator starts, and no process ends by itself", checkRuns},
	{"allowed", "the operator's role allows each of its requests", checkAllowed},
	{"converges", "the operator comes to rest", checkRest},
	{"restart", "a restart at rest writes nothing", checkRestart},
	{"spec", "the operator does not change the spec of the user's objects", checkSpec},
	{"generation", "observedGeneration neither decreases nor exceeds the generation", checkGeneration},
	{"foreign", "the operator deletes no object that it has not read as it is", checkForeign},
	{"state", "the end state is that of the run without faults", checkState},
	{"creations", "each object is created as often as without faults", checkCreations},
	{"leak", "after the user's objects are deleted, the operator's objects are gone", checkLeak},
	{"deterministic", "two runs without faults write the same", checkDeterministic},
}

// Check returns the violations of a run. disabled are names of invariants.
func Check(operator *Operator, reference *Reference, result *Result, disabled []string) []Violation {
	c := &comparison{operator, reference, result}
	var all []Violation
	for _, i := range Invariants {
		if slices.Contains(disabled, i.Name) {
			continue
		}
		for _, v := range i.check(c) {
			v.Invariant = i.Name
			all = append(all, v)
		}
	}
	return all
}

func checkRuns(c *comparison) []Violation {
	var all []Violation
	for _, end := range slices.Compact(slices.Clone(c.result.Ends)) {
		all = append(all, Violation{Message: "the process ended: " + end})
	}
	return all
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
	if c.result.Rest {
		return nil
	}
	last := lastWrites(c.result.Calls)
	return []Violation{
		{Message: fmt.Sprintf("the operator still writes after %s; the last write is %s", c.result.Took, last)},
	}
}

func lastWrites(calls []*Call) string {
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
		if !call.operator || !call.Changed || call.before == nil || call.object == nil || !c.operator.isSample(call) {
			continue
		}
		if d := diff("", ".spec", call.before["spec"], call.object["spec"], nil); d != nil {
			all = append(all, Violation{
				Message: fmt.Sprintf(
					"%s changes %s of the user's object from %s to %s",
					call.Target,
					d.field,
					inJSON(d.want),
					inJSON(d.got),
				), Call: call,
			})
		}
	}
	return all
}

// isSample reports whether a call is about an object that the user has created.
func (o *Operator) isSample(call *Call) bool {
	at := call.resource
	at.subresource = ""
	return slices.ContainsFunc(o.Samples, func(u *unstructured.Unstructured) bool {
		return at.path() == collectionOf(o, u)+"/"+u.GetName()
	})
}

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
			all = append(
				all,
				Violation{
					Message: fmt.Sprintf("%s sets observedGeneration %d, the generation is %d", call.Target, observed, generation),
					Call:    call,
				},
			)
		}
		was := &unstructured.Unstructured{Object: call.before}
		before, _, _ := unstructured.NestedInt64(call.before, "status", "observedGeneration")
		if call.before != nil && was.GetUID() == u.GetUID() && observed < before {
			all = append(
				all,
				Violation{
					Message: fmt.Sprintf("%s sets observedGeneration back from %d to %d", call.Target, before, observed),
					Call:    call,
				},
			)
		}
	}
	return all
}

// checkForeign finds deletions without a UID of objects that the operator had not seen: a recreated object of that
// name.
func checkForeign(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.Calls {
		if !call.operator || call.verb != "delete" || !call.Changed || call.before == nil {
			continue
		}
		if c.operator.isSample(call) && !strings.Contains(string(call.sent), `"uid"`) && call.Behind > 0 {
			all = append(all, Violation{
				Message: fmt.Sprintf(
					"%s has no UID precondition, and %d events are on their way: it may delete a new object of that name",
					call.Target,
					call.Behind,
				),
				Call: call,
			})
		}
	}
	return all
}

func checkState(c *comparison) []Violation {
	if !c.result.Rest {
		return nil
	}
	want := c.reference.First.state
	if c.result.Plan.deletes() {
		want = c.reference.Deleted.state
	}
	if d := compare(want, c.result.state, c.reference.masks); d != nil {
		return []Violation{{Message: d.String(), Call: lastWriteOf(c.result.Calls, d.object)}}
	}
	return nil
}

// lastWriteOf returns the last write of the operator to an object of a state.
func lastWriteOf(calls []*Call, key string) *Call {
	for _, call := range slices.Backward(calls) {
		at := call.resource
		at.subresource = ""
		if call.operator && at.String() == key {
			return call
		}
	}
	return nil
}

func checkCreations(c *comparison) []Violation {
	if len(c.result.Plan.Faults) == 0 || c.result.Plan.recreates() || c.result.Plan.deletes() {
		return nil
	}
	want, got := creations(c.reference.First), creations(c.result)
	var all []Violation
	for _, target := range slices.Sorted(maps.Keys(got)) {
		if n, m := len(want[target]), len(got[target]); m > n {
			all = append(all, Violation{
				Message: fmt.Sprintf("%s succeeds %d times; without faults %d times", target, m, n), Call: got[target][m-1],
			})
		}
	}
	return all
}

// creations returns the successful creations of the operator by target.
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
		if call := creatorOf(c.result.Calls, key); call != nil {
			all = append(all, Violation{Message: key + " is still there", Call: call})
		}
	}
	return all
}

// creatorOf returns the first write of the operator that created an object, or nil.
func creatorOf(calls []*Call, key string) *Call {
	for _, call := range calls {
		if call.operator && call.Changed && call.before == nil && call.resource.String() == key {
			return call
		}
	}
	return nil
}

func checkDeterministic(c *comparison) []Violation {
	if len(c.result.Plan.Faults) > 0 || c.result.Plan.Then != "" {
		return nil
	}
	again := c.reference.Again
	for i, call := range c.reference.First.Calls {
		if i >= len(again.Calls) || again.Calls[i].Target != call.Target {
			return nil // another order; the same seed gives the same order, unless the program depends on chance
		}
		if d := diff(call.resource.kind(), "", call.object, again.Calls[i].object, nil); d != nil {
			return []Violation{{
				Message: fmt.Sprintf(
					"%s writes %s %s, and in the same run again %s",
					call.Target,
					d.field,
					inJSON(d.want),
					inJSON(d.got),
				), Call: call,
			}}
		}
	}
	return nil
}
