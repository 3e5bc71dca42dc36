package simulator

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// version is one version of an object, with the process and the reconcile that wrote it.
type version struct {
	object map[string]any
	author string
}

func (v version) number() string {
	return (&unstructured.Unstructured{Object: v.object}).GetResourceVersion()
}

// setMetrics sets the metrics registry of the process's manager.
func (p *process) setMetrics(registry *metrics.Registry) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.metrics = registry
}

// reconciles returns the number of reconciles in the running processes, by controller.
func (r *run) reconciles() map[string]int {
	r.mu.Lock()
	var registries []*metrics.Registry
	for _, p := range r.living {
		if p != nil && p.metrics != nil {
			registries = append(registries, p.metrics)
		}
	}
	r.mu.Unlock()
	all := map[string]int{}
	for _, registry := range registries {
		var text bytes.Buffer
		if _, err := registry.WriteTo(&text); err != nil {
			continue // cannot happen: a buffer accepts all writes
		}
		for line := range strings.Lines(text.String()) {
			rest, found := strings.CutPrefix(line, `controller_runtime_reconcile_total{controller="`)
			if !found {
				continue
			}
			controller, _, _ := strings.Cut(rest, `"`)
			if fields := strings.Fields(line); len(fields) > 1 {
				n, _ := strconv.ParseFloat(fields[len(fields)-1], 64) // other text counts as zero
				all[controller] += int(n)
			}
		}
	}
	return all
}

// mutated records that the operator has modified an object in a cache.
func (r *run) mutated(e *informer.MutationError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mutants = append(r.mutants, e.Error())
}

// notServed records a list or watch of a kind that the server does not serve.
func (r *run) notServed(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent[c.resource.kind()] = c
}

// saw records that a process has received a version of an object in an event.
func (r *run) saw(p *process, path, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.seen != nil && version != "" {
		p.seen[path] = version
	}
}

// read records that a process has read the current versions of the objects that a call returns.
func (r *run) read(p *process, c *Call) {
	if p.seen == nil || c.verb == "watch" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := c.resource.whole()
	for path, object := range r.objects {
		if path == at.path() || c.verb == "list" && strings.HasPrefix(path, at.path()+"/") {
			p.seen[path] = (&unstructured.Unstructured{Object: object}).GetResourceVersion()
		}
	}
}

// findLost records an update without a resourceVersion that reverts a change of another client or reconcile, if the
// process has not received that change.
func (r *run) findLost(p *process, c *Call) {
	sent := &unstructured.Unstructured{}
	if !c.Changed || c.before == nil || c.outdated || c.object == nil ||
		sent.UnmarshalJSON(c.sent) != nil || sent.GetResourceVersion() != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := c.resource.whole()
	var seen *version
	others := false
	for _, v := range r.history[at.path()] {
		switch {
		case v.number() == p.seen[at.path()]:
			seen = &v
		case seen != nil && v.number() != (version{object: c.object}).number():
			others = others || v.author != c.Process+" "+c.Request
		}
	}
	if seen == nil || !others {
		return
	}
	if field := reverted("", seen.object, c.before, c.object); field != "" {
		r.lost = append(r.lost, violation(c, "%s has no resourceVersion, and reverts %s, which another write has changed "+
			"since the operator has read it", c.Target, field))
	}
}

// reverted returns the path of a field that another client has changed from seen to before, and that has its value of
// seen again after the write, or "".
func reverted(path string, seen, before, after any) string {
	if unequal[path] || path == ".metadata.managedFields" {
		return ""
	}
	b, isMap := before.(map[string]any)
	s, wasMap := seen.(map[string]any)
	a, staysMap := after.(map[string]any)
	if isMap && (wasMap || seen == nil) && (staysMap || after == nil) {
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if field := reverted(path+"."+key, s[key], b[key], a[key]); field != "" {
				return field
			}
		}
		return ""
	}
	if inJSON(before) != inJSON(seen) && inJSON(after) == inJSON(seen) {
		return path
	}
	return ""
}
