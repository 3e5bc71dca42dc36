package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// record numbers a call and adds it to the calls of the run.
func (r *run) record(c *Call, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.connected = true
	c.Time, c.Source = time.Since(r.began), strings.TrimPrefix(c.Source, r.operator.Sources)
	if r.operator.Command != nil {
		c.Request, c.Source = "", "" // they would describe the proxy
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

// answered records the response to a call.
func (r *run) answered(c *Call, body []byte) {
	var object map[string]any
	_ = json.Unmarshal(body, &object) // a body that is not an object is not recorded
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
		if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 { // its version may be unchanged
			c.Changed = c.Changed || c.before != nil
			r.removeLocked(path)
		}
	}
}

// removeLocked removes the object at a path, in all API versions. The caller holds mu.
func (r *run) removeLocked(path string) {
	uid := uidOf(r.objects[path])
	delete(r.objects, path)
	maps.DeleteFunc(r.objects, func(_ string, object map[string]any) bool { return uid != "" && uidOf(object) == uid })
}

// forbidden records a request that the server rejected because of a missing permission.
func (r *run) forbidden(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Message == "" {
		c.Message = fmt.Sprintf("%s may not %s", r.operator.User, c.Target)
	}
	r.refused = append(r.refused, c)
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
