package simulator

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	kctrllog "github.com/kctrl-dev/kctrl/runtime/log"
)

// Call is a request of a process to the API server, and its outcome.
type Call struct {
	Time     time.Duration `json:"time"` // since the start of the run
	Process  string        `json:"process"`
	Target   string        `json:"target"`            // verb, resource and object
	Number   int           `json:"number"`            // number among the run's calls with this target, from 1
	Request  string        `json:"request,omitempty"` // controller and key of the reconcile that sent it
	Source   string        `json:"source,omitempty"`  // file and line in the operator's code
	Behind   int           `json:"behind,omitempty"`  // number of events that the process had not received yet
	Status   int           `json:"status"`            // 0 means no response
	Fault    string        `json:"fault,omitempty"`   // kind of the injected fault
	Changed  bool          `json:"changed,omitempty"` // the object's version changed
	Message  string        `json:"message,omitempty"` // of a failed request
	operator bool          // the operator sent it
	verb     string
	resource resource
	object   map[string]any // after the call
	before   map[string]any // the object before the call, or nil if the run has not seen it
	outdated bool           // before is not the latest state: a client has changed the object in another API version
	sent     []byte
}

// resource is the resource in a request path, with namespace, object and subresource.
type resource struct {
	group, version, name, subresource string
	namespace, object                 string
}

// whole returns the resource without its subresource.
func (r resource) whole() resource {
	r.subresource = ""
	return r
}

// kind returns the group and the name of the resource.
func (r resource) kind() string {
	if r.group == "" {
		return r.name
	}
	return r.group + "/" + r.name
}

func (r resource) String() string {
	text := r.kind()
	if r.subresource != "" {
		text += "/" + r.subresource
	}
	switch {
	case r.namespace != "" && r.object != "":
		text += " " + r.namespace + "/" + r.object
	case r.object != "":
		text += " " + r.object
	case r.namespace != "":
		text += " in " + r.namespace
	}
	return text
}

// path returns the path of the object or collection.
func (r resource) path() string {
	path := "/apis/" + r.group + "/" + r.version
	if r.group == "" {
		path = "/api/" + r.version
	}
	if r.namespace != "" {
		path += "/namespaces/" + r.namespace
	}
	path += "/" + r.name
	if r.object != "" {
		path += "/" + r.object
	}
	return path
}

// parsePath parses the path of a request. ok is false for discovery and other paths without a resource.
func parsePath(path string) (r resource, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		r.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		r.group, r.version, parts = parts[1], parts[2], parts[3:]
	default:
		return resource{}, false
	}
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		r.namespace, parts = parts[1], parts[2:]
	}
	r.name = parts[0]
	if len(parts) > 1 {
		r.object = parts[1]
	}
	if len(parts) > 2 {
		r.subresource = strings.Join(parts[2:], "/")
	}
	return r, true
}

// verbOf returns the verb of a request, as RBAC rules write it.
func verbOf(method string, watch bool, r resource) string {
	switch {
	case method == http.MethodGet && watch:
		return "watch"
	case method == http.MethodGet && r.object == "":
		return "list"
	case method == http.MethodDelete && r.object == "":
		return "deletecollection"
	}
	return map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
		http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[method]
}

// isWrite reports whether a verb changes objects.
func isWrite(verb string) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb)
}

// isBackground reports whether a resource serves the runtime rather than the operator's purpose.
func (r resource) isBackground() bool {
	switch r.kind() {
	case "coordination.k8s.io/leases", "events", "events.k8s.io/events",
		"authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews":
		return true
	}
	return false
}

// newCall returns the call for a request. It reads the body of the request and replaces it with a copy.
func newCall(process string, began time.Time, request *http.Request) (*Call, error) {
	r, ok := parsePath(request.URL.Path)
	if !ok {
		return &Call{Process: process, Time: time.Since(began), Target: "get " + request.URL.Path, verb: "get"}, nil
	}
	c := &Call{Process: process, Time: time.Since(began), resource: r}
	query := request.URL.Query()
	c.verb = verbOf(request.Method, query.Get("watch") == "true" || query.Get("watch") == "1", r)
	if request.Body != nil && request.Body != http.NoBody {
		sent, err := io.ReadAll(request.Body)
		_ = request.Body.Close()
		if err != nil {
			return nil, err
		}
		c.sent = sent
		request.Body = io.NopCloser(strings.NewReader(string(sent)))
	}
	if c.verb == "create" && r.object == "" {
		c.resource.object = nameIn(c.sent)
	}
	c.Target = c.verb + " " + c.resource.String()
	if isWrite(c.verb) {
		c.Request, c.Source = requestOf(request.Context()), callSite()
	}
	return c, nil
}

// nameIn returns the name of an object in JSON or protobuf, or its generateName with a star.
func nameIn(data []byte) string {
	name, generateName, ok := nameInProtobuf(data)
	if !ok {
		var partial struct {
			Metadata struct {
				Name         string `json:"name"`
				GenerateName string `json:"generateName"`
			} `json:"metadata"`
		}
		if json.Unmarshal(data, &partial) != nil {
			return ""
		}
		name, generateName = partial.Metadata.Name, partial.Metadata.GenerateName
	}
	if name == "" && generateName != "" {
		return generateName + "*"
	}
	return name
}

// frameworks has prefixes of functions that are not the operator's code.
var frameworks = []string{
	"github.com/kctrl-dev/kctrl/runtime/", "github.com/kctrl-dev/kctrl/testserver/", "k8s.io/", "sigs.k8s.io/",
	"net/http.", "runtime.", "testing.", "sync.", "log/slog.",
}

// callSite returns the innermost line of the operator's code on the stack.
func callSite() string {
	for frame := range frames {
		isFramework := func(prefix string) bool { return strings.HasPrefix(frame.Function, prefix) }
		if frame.Function != "" && strings.Contains(frame.File, "/") && !slices.ContainsFunc(frameworks, isFramework) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
	return ""
}

// isSetup reports whether the caller is the runtime while it installs webhooks. In a cluster, the deployment installs
// them before the operator starts.
func isSetup() bool {
	for frame := range frames {
		if strings.HasPrefix(frame.Function, "github.com/kctrl-dev/kctrl/runtime/webhook/local.") {
			return true
		}
	}
	return false
}

// frames yields the frames on the stack, innermost first.
func frames(yield func(runtime.Frame) bool) {
	var counters [64]uintptr
	all := runtime.CallersFrames(counters[:runtime.Callers(3, counters[:])])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = all.Next(); !yield(frame) {
			return
		}
	}
}

// probe receives the attributes of a reconcile from the handler of its logger.
type probe struct{ controller, key string }

// probeKey is the key of the attribute with a probe.
const probeKey = "kctrl probe"

// requestOf returns the controller and the key of the reconcile to which ctx belongs, or "".
func requestOf(ctx context.Context) string {
	p := &probe{}
	record := slog.NewRecord(time.Time{}, slog.LevelError, "", 0)
	record.Add(probeKey, p) // unlike a context value, an attribute also reaches handlers behind a logr.Logger
	logger := kctrllog.FromContext(ctx)
	if logger == slog.Default() {
		return ""
	}
	if err := logger.Handler().Handle(ctx, record); err != nil || p.key == "" {
		return ""
	}
	return strings.TrimSpace(p.controller + " " + p.key)
}

// logHandler receives the logs of an operator. It keeps warnings and errors for stories, and answers probes.
type logHandler struct {
	attrs []slog.Attr
	lines *logLines
	alive context.Context // of the process
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, record slog.Record) error {
	if p := probeIn(record); p != nil {
		h.answer(p)
		return nil
	}
	if record.Level >= slog.LevelWarn && h.alive.Err() == nil {
		h.lines.add(record, h.attrs)
	}
	return nil
}

// probeIn returns the probe of a record, or nil.
func probeIn(record slog.Record) (p *probe) {
	if record.Message != "" {
		return nil
	}
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == probeKey {
			p, _ = a.Value.Any().(*probe)
		}
		return p == nil
	})
	return p
}

// answer sets the controller and the key of a reconcile. controller-runtime's loggers have namespace and name instead
// of the key.
func (h *logHandler) answer(p *probe) {
	var namespace, name string
	for _, a := range h.attrs {
		switch a.Key {
		case "controller":
			p.controller = a.Value.String()
		case "key":
			p.key = a.Value.String()
		case "namespace":
			namespace = a.Value.String()
		case "name":
			name = a.Value.String()
		}
	}
	if p.key == "" && name != "" {
		p.key = strings.TrimPrefix(namespace+"/"+name, "/")
	}
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...), h.lines, h.alive}
}

func (h *logHandler) WithGroup(string) slog.Handler { return h }
