package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kctrl-dev/kctrl/runtime/sim"
)

// ruleError reports a rule of the project that panics. It ends the simulation.
type ruleError struct {
	rule    string
	problem any
}

func (e *ruleError) Error() string { return fmt.Sprintf("the rule %q panics: %v", e.rule, e.problem) }

// setScheme sets the scheme with which rules read objects: the types of the operator's scheme, and Kubernetes' own.
func (r *run) setScheme(operators *runtime.Scheme) {
	if len(r.operator.Rules) == 0 {
		return
	}
	scheme := runtime.NewScheme()
	for _, add := range []*runtime.Scheme{operators, legacyscheme.Scheme} {
		for gvk, goType := range add.AllKnownTypes() {
			object, ok := reflect.New(goType).Interface().(runtime.Object)
			if ok && gvk.Version != runtime.APIVersionInternal && !scheme.Recognizes(gvk) {
				scheme.AddKnownTypeWithName(gvk, object)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scheme = scheme
}

// checkRules checks the rules of the project after a write, or at the end of the run if c is nil. It records the first
// violation of each rule.
func (r *run) checkRules(c *Call) {
	var objects sim.Objects
	for _, rule := range r.operator.Rules {
		if rule.Always != (c != nil) || r.isBroken(rule.Name) {
			continue
		}
		if objects.Scheme == nil {
			if objects = r.view(); objects.Scheme == nil {
				return // the operator has not started
			}
		}
		err := checkRule(rule, objects)
		r.mu.Lock()
		switch problem := err.(type) {
		case nil:
		case *ruleError:
			r.failed = problem
		default:
			r.broken = append(r.broken, Violation{Invariant: rule.Name, Message: err.Error(), Call: c})
		}
		r.mu.Unlock()
	}
}

// checkRule calls a rule. It returns a ruleError if the rule panics.
func checkRule(rule sim.Rule, objects sim.Objects) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = &ruleError{rule.Name, problem}
		}
	}()
	return rule.Check(objects)
}

func (r *run) isBroken(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed != nil || slices.ContainsFunc(r.broken, func(v Violation) bool { return v.Invariant == name })
}

// view returns the current objects for rules. If clients have written an object in several API versions, view reads the
// outdated versions again.
func (r *run) view() sim.Objects {
	r.mu.Lock()
	view := sim.Objects{Scheme: r.scheme}
	all, newest := maps.Clone(r.objects), map[types.UID]string{}
	for _, object := range all {
		u := &unstructured.Unstructured{Object: object}
		if was, now := newest[u.GetUID()], u.GetResourceVersion(); isNewer(now, was) {
			newest[u.GetUID()] = now
		}
	}
	r.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		u := &unstructured.Unstructured{Object: all[path]}
		if u.GetResourceVersion() != newest[u.GetUID()] {
			answer, err := r.exchange(http.MethodGet, path, nil)
			fresh := &unstructured.Unstructured{}
			if err != nil || json.Unmarshal(answer, &fresh.Object) != nil {
				continue // the object was deleted
			}
			u = fresh
		}
		view.Items = append(view.Items, u)
	}
	return view
}

// isNewer reports whether one resource version of an object is newer than another.
func isNewer(version, than string) bool {
	if len(version) != len(than) {
		return len(version) > len(than)
	}
	return strings.Compare(version, than) > 0
}
