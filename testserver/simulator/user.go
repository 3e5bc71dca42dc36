package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Edit is a change of one field of a sample.
type Edit struct {
	Sample int    `json:"sample"` // index, from 0
	Field  string `json:"field"`  // path below the spec, such as "size" or "storage.class"
	Value  any    `json:"value"`
	Was    any    `json:"was"` // value in the sample
}

func (e *Edit) String() string {
	return fmt.Sprintf("spec.%s of sample %d from %s to %s", e.Field, e.Sample, inJSON(e.Was), inJSON(e.Value))
}

// equal reports whether two edits are the same. Both may be nil.
func (e *Edit) equal(other *Edit) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.String() == other.String()
}

// createSamples creates the samples as the plan defines.
func (r *run) createSamples() error {
	samples := slices.Clone(r.operator.Samples)
	if r.plan.Create == Reverse {
		slices.Reverse(samples)
	}
	for _, sample := range samples {
		sample = r.sample(sample)
		if err := r.send(http.MethodPost, r.collectionOf(sample), sample); err != nil {
			return fmt.Errorf("create the sample %s %s: %w", sample.GetKind(), sample.GetName(), err)
		}
		if r.plan.Create != "" {
			r.wait(nil)
		}
	}
	return nil
}

// sample returns a sample as the plan creates it.
func (r *run) sample(u *unstructured.Unstructured) *unstructured.Unstructured {
	if r.plan.Then == Terminate && u.GetNamespace() != "" {
		u = u.DeepCopy()
		u.SetNamespace("") // the path determines the namespace
		return u
	}
	e := r.plan.Change
	if e == nil || r.plan.changes() || r.plan.Then == Rollback || r.operator.Samples[e.Sample] != u {
		return u
	}
	u = u.DeepCopy()
	if err := unstructured.SetNestedField(u.Object, e.Value, e.path()...); err != nil {
		panic(err) // the field was found in the sample
	}
	return u
}

func (e *Edit) path() []string { return append([]string{"spec"}, strings.Split(e.Field, ".")...) }

// act carries out the user's action at rest. It does not wait for the effect of the last step.
func (r *run) act() error {
	switch r.plan.Then {
	case Delete, Recreate:
		return r.actOnSamples(r.plan.Then)
	case Terminate:
		return r.send(http.MethodDelete, "/api/v1/namespaces/"+ofSamples, nil)
	case Rollback:
		if err := r.edit(r.plan.Change.Value); err != nil {
			return err
		}
		r.wait(nil)
		return r.edit(r.plan.Change.Was)
	}
	return r.edit(r.plan.Change.Value)
}

// edit sets the field of the plan's change.
func (r *run) edit(value any) error {
	e := r.plan.Change
	sample := r.operator.Samples[e.Sample]
	for _, key := range slices.Backward(e.path()) {
		value = map[string]any{key: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := r.collectionOf(sample) + "/" + sample.GetName()
	return r.sendData(r.user, http.MethodPatch, path, mergePatch, data)
}

// maxEdits is the maximum number of edits.
const maxEdits = 6

// edits returns changes of scalars in the specs of samples of custom kinds, in a fixed order and at most maxEdits.
func (o *Operator) edits() []*Edit {
	var all []*Edit
	for i, sample := range o.Samples {
		schema := o.schemaOf(sample)
		spec, isMap := sample.Object["spec"].(map[string]any)
		if schema == nil || !isMap {
			continue
		}
		specSchema, _, _ := unstructured.NestedMap(schema, "properties", "spec")
		editsIn(spec, specSchema, "", func(field string, was, value any) {
			all = append(all, &Edit{i, field, value, was})
		})
	}
	return all[:min(maxEdits, len(all))]
}

// editsIn calls add for each scalar of a map, with another value that the schema allows.
func editsIn(object, schema map[string]any, prefix string, add func(field string, was, value any)) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		properties, _, _ := unstructured.NestedMap(schema, "properties", key)
		if properties == nil {
			properties, _, _ = unstructured.NestedMap(schema, "additionalProperties")
		}
		if inner, isMap := object[key].(map[string]any); isMap {
			editsIn(inner, properties, prefix+key+".", add)
			continue
		}
		if value := otherValue(object[key], properties); value != nil && !strings.Contains(key, ".") {
			add(prefix+key, object[key], value)
		}
	}
}

// otherValue returns a different value that the schema allows for a scalar, or nil.
func otherValue(was any, schema map[string]any) any {
	if values, _, _ := unstructured.NestedSlice(schema, "enum"); len(values) > 0 {
		for _, value := range values {
			if inJSON(value) != inJSON(was) {
				return value
			}
		}
		return nil
	}
	switch was := was.(type) {
	case bool:
		return !was
	case int64:
		if limit, found := number(schema["maximum"]); found && float64(was+1) > limit {
			return nil
		}
		return was + 1
	case float64: // YAML has one kind of number
		if whole := int64(was); float64(whole) == was {
			return otherValue(whole, schema)
		}
	case string:
		if schema["pattern"] != nil || schema["format"] != nil || was == "" {
			return nil
		}
		return was + "x"
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// schemaOf returns the schema of an object's kind and version from its CRD, or nil.
func (o *Operator) schemaOf(u *unstructured.Unstructured) map[string]any {
	for _, definition := range o.Objects {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if definition.GetKind() != "CustomResourceDefinition" || group != u.GroupVersionKind().Group || kind != u.GetKind() {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, v := range versions {
			if v, _ := v.(map[string]any); v["name"] == u.GroupVersionKind().Version {
				schema, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
				return schema
			}
		}
	}
	return nil
}

// rewind is an earlier state of a kind, which a restarted operator reads.
type rewind struct {
	kind    string
	version string
	until   time.Time // the process receives later events from this time on; zero until the operator restarts
}

// past records the version of an event, if the plan takes the operator back to it later. The caller must not hold mu.
func (r *run) past(e *Event, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Fault == string(Rewind) {
		r.rewind = &rewind{kind: strings.Fields(e.Target)[1], version: version}
	}
}

// goBack restarts the operator with an earlier state of a kind, if the plan defines one, and reports whether it does.
func (r *run) goBack() bool {
	r.mu.Lock()
	back := r.rewind
	if back != nil {
		back.until = time.Now().Add(r.pace.restart + min(kinds[Rewind].delay, r.pace.delay))
	}
	r.mu.Unlock()
	if back != nil {
		r.restartAll()
	}
	return back != nil
}

// isRewound reports whether a call must return the earlier state of its kind.
func (r *run) isRewound(c *Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rewind != nil && r.rewind.kind == c.resource.kind() && time.Now().Before(r.rewind.until)
}

// past returns a copy of a list request that requests an earlier version.
func past(request *http.Request, version string) *http.Request {
	request = request.Clone(request.Context())
	query := request.URL.Query()
	query.Set("resourceVersion", version)
	query.Set("resourceVersionMatch", "Exact")
	query.Del("limit")
	request.URL.RawQuery = query.Encode()
	return request
}

// eventFrom returns the time from which a process may receive events of a kind.
func (r *run) eventFrom(p *process, kind string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rewind != nil && r.rewind.kind == kind && r.rewind.until.After(p.stalled) {
		return r.rewind.until
	}
	return p.stalled
}

// delay holds a write back for a fault that interrupts the process's lease, network or clock. It returns an error if
// the request ends during the delay.
func (r *run) delay(p *process, fault Kind, request *http.Request) error {
	d := kinds[fault].delay
	if r.operator.Command != nil {
		d = min(d, r.pace.delay)
	}
	r.mu.Lock()
	r.longer += d
	if fault == LoseLease {
		p.leaseless = time.Now().Add(d)
	} else {
		p.stalled = time.Now().Add(d)
	}
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	r.gate.hold(ctx, d)
	if p.ctx.Err() != nil {
		return errCrashed
	}
	return request.Context().Err()
}

// breakWebhooks makes the webhooks of the operator fail for a while.
func (r *run) breakWebhooks() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = time.Now().Add(kinds[WebhookDown].delay)
}

func (r *run) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.down)
}

func (r *run) stalledUntil(p *process) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.stalled
}

func (r *run) isLeaseless(p *process) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(p.leaseless)
}

// actOnSamples deletes the samples. For Recreate, it then creates them again.
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
		if isConflict(err) { // a finalizer keeps the deleted sample
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
