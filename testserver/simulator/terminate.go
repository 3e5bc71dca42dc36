package simulator

import (
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// ofSamples is the namespace of the samples in plans that delete it; the default namespace cannot be deleted.
const ofSamples = "kctrl-samples"

var samplesNamespace = []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + ofSamples + `"}}`)

// canMove reports whether the samples can be created in another namespace. At least one sample must be namespaced, and
// no sample may specify a namespace other than default.
func (o *Operator) canMove() bool {
	namespaced := func(u *unstructured.Unstructured) bool { return strings.Contains(collectionOf(o, u), "/namespaces/") }
	named := func(u *unstructured.Unstructured) bool {
		return u.GetNamespace() != "" && u.GetNamespace() != "default"
	}
	return o.SampleNamespace == "" && slices.ContainsFunc(o.Samples, namespaced) && !slices.ContainsFunc(o.Samples, named)
}

// collectionOf returns the path of the objects of the kind and namespace of a sample.
func (r *run) collectionOf(sample *unstructured.Unstructured) string {
	path := collectionOf(r.operator, sample)
	if at, ok := parsePath(path); ok && at.namespace != "" && r.plan.Then == Terminate {
		at.namespace = ofSamples
		return at.path()
	}
	return path
}

// sampleNames returns the samples in the form of call targets.
func (r *run) sampleNames() map[string]bool {
	all := map[string]bool{}
	for _, u := range r.operator.Samples {
		at, _ := parsePath(r.collectionOf(u) + "/" + u.GetName()) // a path of an object has a resource
		all[at.String()] = true
	}
	return all
}

// kept returns the reason why the deleted namespace still exists, or "" if it is gone.
func (r *run) kept() string {
	answer, err := r.exchange(http.MethodGet, "/api/v1/namespaces/"+ofSamples, nil)
	if isNotFound(err) {
		return ""
	}
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal(answer, namespace); err != nil {
		return err.Error()
	}
	text := "it has no deletion timestamp"
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			text = c.Message
		}
	}
	return text
}

// checkNamespace finds a deleted namespace that still exists.
func checkNamespace(c *comparison) []Violation {
	if c.result.kept == "" {
		return nil
	}
	var last *Call
	for _, call := range c.result.Calls {
		if call.operator && call.Status == http.StatusForbidden {
			last = call
		}
	}
	return []Violation{violation(last, "the namespace %s is still there: %s", ofSamples, c.result.kept)}
}

// checkResync finds writes after a resync, except those that the operator also makes without a resync.
func checkResync(c *comparison) []Violation {
	var all []Violation
	for _, call := range c.result.resync {
		if !c.reference.First.watched[call.Target] && !c.reference.isPeriodic(call) {
			all = append(all, violation(call, "the operator writes, although nothing has changed: %s", call.Target))
		}
	}
	return all
}
