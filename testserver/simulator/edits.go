package simulator

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// want returns the end state that a plan must reach.
func (r *Reference) want(plan Plan) state {
	if plan.has(Change) {
		if created := r.created(plan.Change); created != nil {
			return created.state
		}
	}
	return r.of(plan).state
}

// differs returns the first difference between got and want, the end state that a plan must reach, or nil.
func differs(o *Operator, reference *Reference, plan Plan, want, got state) *difference {
	if plan.has(Change) {
		return compare(settled(o, want, reference.First), settled(o, got, reference.First), reference.masks)
	}
	// The cluster's controllers may still keep objects for deleted objects, or for an old state that the operator has
	// read.
	if plan.recreates() || plan.has(Rewind) {
		want, got = ofUsers(o, want, reference.First), ofUsers(o, got, reference.First)
	}
	return compare(want, got, reference.masks)
}

// ofOperator returns the objects of a state that the user or the operator has written, after modify has modified them.
func ofOperator(o *Operator, s state, like *Result, modify func(object map[string]any, isSample bool)) state {
	kinds, samples, all := written(like), o.sampleNames(), state{}
	for key, objects := range s {
		kind, _, _ := strings.Cut(key, " ")
		if !samples[key] && !slices.Contains(kinds, kind) {
			continue // written by the cluster
		}
		for _, object := range objects {
			object = maps.Clone(object)
			modify(object, samples[key])
			all[key] = append(all[key], object)
		}
	}
	return all
}

// ofUsers returns the objects of a state that the user or the operator has written.
func ofUsers(o *Operator, s state, like *Result) state {
	return ofOperator(o, s, like, func(object map[string]any, isSample bool) {
		if !isSample {
			delete(object, "status") // written by the cluster, with generated names
		}
	})
}

// checkPath compares the state after a change of a sample with the state of a run that created the changed sample.
func checkPath(c *comparison) []Violation {
	plan := c.result.Plan
	if !plan.changes() || plan.Then == Change && len(plan.Faults) > 0 || !c.result.Rest || c.result.Refused {
		return nil
	}
	created := c.reference.created(plan.Change)
	if c.reference.First.periodic != nil {
		return nil // the created objects depend on the time
	}
	if created == nil || !slices.Equal(written(created), written(c.reference.First)) {
		return nil // after a change to a spec that the operator rejects, the objects of the earlier spec may remain
	}
	want, got := settled(c.operator, created.state, created), settled(c.operator, c.result.state, created)
	d := compare(want, got, c.reference.masks)
	if d == nil && created.remains != nil && c.result.remains != nil {
		if d = compare(created.remains, c.result.remains, c.reference.masks); d != nil {
			d.object += ", after the deletion of the user's objects"
		}
	}
	if d == nil {
		return nil
	}
	return []Violation{violation(lastWriteOf(c.result.Calls, d.object), "%s: %s", plan.Change, d)}
}

// checkRollback compares the state after a change and its reversal with the state before the change.
func checkRollback(c *comparison) []Violation {
	plan := c.result.Plan
	if plan.Then != Rollback || len(plan.Faults) > 0 || !c.result.Rest || c.result.Refused {
		return nil
	}
	first := c.reference.First
	d := compare(settled(c.operator, first.state, first), settled(c.operator, c.result.state, first), c.reference.masks)
	if d == nil {
		return nil
	}
	return []Violation{violation(lastWriteOf(c.result.Calls, d.object), "%s and back: %s", plan.Change, d)}
}

// written returns the kinds of the objects, except the samples, that an operator has written.
func written(r *Result) []string {
	all := map[string]bool{}
	for _, call := range r.Calls {
		if call.operator && call.Changed && !r.isSample(call) {
			all[call.resource.kind()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// settled returns the part of a state that does not depend on its history: the objects that the operator writes,
// without the status, and the strings and booleans in the status of the samples. Numbers and times in a status, and
// reasons and messages of conditions, may differ.
func settled(o *Operator, s state, like *Result) state {
	return ofOperator(o, s, like, func(object map[string]any, isSample bool) {
		metadata, _ := object["metadata"].(map[string]any)
		object["metadata"] = map[string]any{"labels": metadata["labels"]}
		status := lasting(object["status"])
		if delete(object, "status"); isSample && status != nil {
			object["status"] = status
		}
	})
}

// lasting returns the fields of a status that do not depend on its history.
func lasting(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, field := range v {
			if key == "reason" || key == "message" {
				continue
			}
			if field = lasting(field); field != nil {
				all[key] = field
			}
		}
		if len(all) == 0 {
			return nil
		}
		return all
	case []any:
		var all []any
		for _, item := range v {
			if _, isMap := item.(map[string]any); isMap {
				all = append(all, lasting(item))
			}
		}
		if all == nil {
			return nil
		}
		return all
	case string:
		if isTime(v) {
			return nil
		}
		return v
	case bool:
		return v
	}
	return nil
}

// patient has parts of the names of fields whose effect a run may not show, because the effect depends on time,
// failures or the deletion of other objects.
var patient = []string{
	"timeout", "period", "interval", "deadline", "seconds", "limit", "history", "backoff", "policy", "retr", "ttl",
	"schedule", "suspend", "pause", "delay", "window", "expir", "duration", "zone", "threshold", "max", "min",
}

// checkUnused finds fields of a spec whose change has no effect.
func checkUnused(c *comparison) []Violation {
	plan := c.result.Plan
	if plan.Change == nil || plan.Then != "" || len(plan.Faults) > 0 || c.result.Refused {
		return nil
	}
	name := strings.ToLower(plan.Change.Field)
	if slices.ContainsFunc(patient, func(part string) bool { return strings.Contains(name, part) }) ||
		!c.reference.First.owns(c.operator.Samples[plan.Change.Sample]) {
		return nil
	}
	first := c.reference.First
	same := slices.EqualFunc(first.Calls, c.result.Calls, func(a, b *Call) bool { return a.Target == b.Target }) &&
		compare(c.withoutSpecs(first.state), c.withoutSpecs(c.result.state), c.reference.masks) == nil &&
		compare(c.reference.Deleted.state, c.result.remains, c.reference.masks) == nil
	if !same {
		return nil
	}
	return []Violation{violation(nil, "%s changes nothing", plan.Change)}
}

// owns reports whether the operator has created an object whose owner is a sample. Operators that create no such
// objects may be unfinished.
func (r *Result) owns(sample *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.Calls, func(call *Call) bool {
		owners := (&unstructured.Unstructured{Object: call.object}).GetOwnerReferences()
		return call.operator && slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
			return o.Kind == sample.GetKind() && o.Name == sample.GetName()
		})
	})
}

// withoutSpecs returns a state in which the samples have no spec.
func (c *comparison) withoutSpecs(s state) state {
	samples := c.operator.sampleNames()
	all := maps.Clone(s)
	for key, objects := range all {
		if !samples[key] {
			continue
		}
		all[key] = nil
		for _, object := range objects {
			object = maps.Clone(object)
			delete(object, "spec")
			all[key] = append(all[key], object)
		}
	}
	return all
}

// checkSilent finds rejected requests that neither the status of a sample nor an event reports.
func checkSilent(c *comparison) []Violation {
	if !c.result.Plan.has(Reject) || c.result.reported || len(c.result.Fired) == 0 {
		return nil
	}
	for key := range c.operator.sampleNames() {
		for i, object := range c.result.state[key] {
			before := c.reference.First.state[key]
			if object["status"] != nil && i < len(before) && diff("", "", before[i]["status"], object["status"], nil) != nil {
				return nil
			}
		}
	}
	return []Violation{violation(nil, "the server rejects %q, and no status and no event reports it",
		c.result.Fired[0].At)}
}
