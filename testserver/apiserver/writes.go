package apiserver

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/fieldset"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/validity"
)

// Most writes of custom resources are right, and what they make of an object is certain: these are done here, in a tenth of the time
// that upstream's handlers take. Whatever is asked in another way, or is or may be wrong, is left to these, before anything of it has
// been done: so there is one place that says it.

// writes are those of a version of a definition whose outcome may be certain.
type writes struct {
	server   *Server
	objects  *registry
	strategy *customStrategy
	fields   *fieldset.Type
	schema   *validity.Schema
}

// newWrites is nil for a version of which no outcome is certain: one that is not stored, for example.
func (s *Server) newWrites(d *definition, objects *registry, types managedfields.TypeConverter) *writes {
	strategy := objects.strategy.(*customStrategy)
	known := validity.New(strategy.structural)
	if strategy.kind.Version != d.storageVersion || d.crd.Spec.PreserveUnknownFields || known == nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(strategy.kind)
	typed, err := types.ObjectToTyped(u)
	if err != nil {
		return nil
	}
	return &writes{s, objects, strategy, fieldset.New(typed.Schema(), typed.TypeRef()), known}
}

// write is a request.
type write struct {
	*writes
	ctx    context.Context
	name   string
	space  string // the namespace
	status bool   // of the status subresource
	by     fieldset.Writer
	force  bool
}

// serveWrite does a write whose outcome is certain, and reports whether it has. If not, the request is as it was.
func (s *Server) serveWrite(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint) bool {
	if e.writes == nil || s.upstream || info.Subresource != "" && (info.Subresource != "status" || e.parts["status"].storage == nil) {
		return false
	}
	accepted, media, err := negotiation.NegotiateOutputMediaType(r, e.scope.Serializer, e.scope)
	if err != nil || accepted.Convert != nil || accepted.Pretty || media.MediaType != runtime.ContentTypeJSON || !s.unguarded() {
		return false
	}
	a := write{writes: e.writes, ctx: request.WithNamespace(r.Context(), info.Namespace), name: info.Name, space: info.Namespace, status: info.Subresource == "status"}
	do, ok := a.verb(r, info)
	if !ok || !a.parameters(r, info) {
		return false
	}
	data, ok := readBody(r)
	if !ok {
		return false
	}
	record, status := do(data)
	if record == nil {
		return false
	}
	s.certain.Add(1)
	v := verbatim{e.writes.objects, e.scope, media, info}
	v.write(w, r, status, append(record.Document.AppendTo(make([]byte, 0, len(record.Document.Data)+len("18446744073709551615\n")), record.Version), '\n'))
	return true
}

// unguarded reports whether there is nothing that decides about writes besides what they say.
func (s *Server) unguarded() bool {
	return !s.store.HasAny(s.guards)
}

// verb is what a request does to an object, which returns what is stored then and the status of the answer: nil when it is not certain.
func (a *write) verb(r *http.Request, info *request.RequestInfo) (do func(data []byte) (*store.Record, int), ok bool) {
	content := r.Header.Get("Content-Type")
	switch {
	case info.Verb == "create" && a.name == "" && !a.status && content == runtime.ContentTypeJSON:
		return a.create, true
	case info.Verb == "update" && a.name != "" && content == runtime.ContentTypeJSON:
		return a.update, true
	case info.Verb == "patch" && a.name != "" && content == string(types.MergePatchType):
		return a.merge, true
	case info.Verb == "patch" && a.name != "" && content == string(types.ApplyYAMLPatchType):
		return a.apply, true
	}
	return nil, false
}

// parameters reads those of a request.
func (a *write) parameters(r *http.Request, info *request.RequestInfo) bool {
	apply := r.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType)
	manager, _, _ := strings.Cut(r.UserAgent(), "/")
	if r.URL.RawQuery != "" {
		for name, values := range r.URL.Query() {
			if len(values) != 1 {
				return false
			}
			switch value := values[0]; {
			case name == "fieldManager" && value != "":
				manager = value
			case name == "fieldValidation" && (value == metav1.FieldValidationStrict || value == metav1.FieldValidationWarn || value == metav1.FieldValidationIgnore):
			case name == "force" && apply && (value == "true" || value == "false"):
				a.force = value == "true"
			case name == "timeout":
			default:
				return false
			}
		}
	}
	if apply && (!strings.Contains(r.URL.RawQuery, "fieldManager=") || manager == "kubectl") { // which takes over what kubectl has applied itself
		return false
	}
	if manager == "" {
		manager = "unknown"
	}
	for i := range len(manager) {
		if manager[i] < ' ' || manager[i] > '~' {
			return false
		}
	}
	a.by = fieldset.Writer{Manager: manager, Version: a.strategy.kind.GroupVersion().String(), Subresource: info.Subresource, Time: time.Now().UTC().Format(time.RFC3339)}
	switch {
	case a.status:
		a.by.Reset = []string{"metadata", "spec"}
	case a.strategy.hasStatus:
		a.by.Reset = []string{"status"}
	}
	return len(manager) <= 128
}

// readBody reads the body of a request, which may be read again.
func readBody(r *http.Request) ([]byte, bool) {
	const most = 1 << 20
	if r.ContentLength <= 0 || r.ContentLength > most || r.Header.Get("Content-Encoding") != "" {
		return nil, false
	}
	body := r.Body
	data := bytes.NewBuffer(make([]byte, 0, r.ContentLength+bytes.MinRead))
	_, err := data.ReadFrom(io.LimitReader(body, most+1))
	rest := io.Reader(body)
	if err != nil {
		rest = failingReader{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data.Bytes()), rest), body}
	return data.Bytes(), err == nil && data.Len() <= most
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func (a *write) create(data []byte) (*store.Record, int) {
	object, ok := parse(data, false)
	if !ok {
		return nil, 0
	}
	metadata, ok := a.metadata(object)
	if !ok || !isNew(metadata) {
		return nil, 0
	}
	if name, there := metadata["name"]; there {
		a.name = name.(string)
	}
	status, dropped := object["status"]
	if dropped = dropped && a.strategy.hasStatus; dropped {
		if !a.schema.Has(map[string]any{"status": status}) {
			return nil, 0
		}
		delete(object, "status")
	}
	if a.schema.Defaults() {
		defaulting.Default(object, a.strategy.structural)
	}
	if dropped {
		if _, there := object["status"]; there {
			return nil, 0
		}
		object["status"] = status // which the library has to take too, or there are no managedFields
	}
	managed, ok := a.fields.Update(nil, object, nil, a.by)
	if !ok {
		return nil, 0
	}
	if dropped {
		delete(object, "status")
	}
	return a.insert(object, metadata, managed)
}

// insert stores a new object, which has its defaults, and has no status where that has a resource of its own.
func (a *write) insert(object, metadata map[string]any, managed []any) (*store.Record, int) {
	generated, _ := metadata["generateName"].(string)
	if a.name != "" {
		generated = ""
	} else if generated == "" || a.strategy.rules != nil {
		return nil, 0
	}
	u := &unstructured.Unstructured{Object: object}
	if !a.schema.Has(object) || !a.admitted() || !a.valid(u, nil) {
		return nil, 0
	}
	key := ""
	if generated == "" {
		var err error
		if key, err = a.objects.key(a.ctx, a.name); err != nil || a.objects.table.Get(key) != nil {
			return nil, 0
		}
	}
	uid := a.server.names.uid()
	if generated != "" {
		a.name = a.server.names.GenerateName(generated)
		key = a.objects.root(a.ctx) + a.name
	}
	metadata["name"], metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = a.name, string(uid), a.by.Time, int64(1)
	if a.space != "" {
		metadata["namespace"] = a.space
	}
	if managed != nil {
		metadata["managedFields"] = managed
	}
	return a.put(key, nil, u), http.StatusCreated
}

// admitted reports whether objects may be made in the namespace.
func (a *write) admitted() bool {
	if a.space == "" {
		return true
	}
	namespace := a.server.namespace(a.space)
	return namespace != nil && namespace.Status.Phase != "Terminating"
}

func (a *write) update(data []byte) (*store.Record, int) {
	was, live := a.existing()
	next, ok := parse(data, false)
	if live == nil || !ok {
		return nil, 0
	}
	return a.replace(was, live, next)
}

func (a *write) merge(data []byte) (*store.Record, int) {
	was, live := a.existing()
	patch, ok := parse(data, false)
	if live == nil || !ok {
		return nil, 0
	}
	next, ok := patched(live, patch)
	if !ok {
		return nil, 0
	}
	return a.replace(was, live, next)
}

// patched is an object with a merge patch, in maps of its own where they differ.
func patched(object, patch map[string]any) (map[string]any, bool) {
	object = maps.Clone(object)
	for name, value := range patch {
		current, there := object[name]
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, name)
			continue
		case isObject && there:
			of, ok := current.(map[string]any)
			if !ok {
				return nil, false
			}
			if value, ok = patched(of, inner); !ok {
				return nil, false
			}
		case hasNull(value):
			return nil, false
		}
		object[name] = value
	}
	return object, true
}

func hasNull(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if hasNull(member) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return value == nil
}

// existing is the object that is stored, which nobody changes, if there is one to which something certain can be done. One that was written
// in other words than it is read in is none: what changes nothing may be a write.
func (a *write) existing() (*store.Record, map[string]any) {
	key, err := a.objects.key(a.ctx, a.name)
	if err != nil {
		return nil, nil
	}
	was := a.objects.table.Get(key)
	if was == nil || was.Written != nil || !a.objects.codec.(*customCodec).verbatim(was) {
		return nil, nil
	}
	u, err := was.Custom()
	if err != nil {
		return nil, nil
	}
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok || metadata["deletionTimestamp"] != nil {
		return nil, nil
	}
	return was, u.Object
}

// replace writes an object over the one that is there.
func (a *write) replace(was *store.Record, live, next map[string]any) (*store.Record, int) {
	metadata, ok := a.metadata(next)
	current := live["metadata"].(map[string]any)
	if !ok || !isOf(metadata, current) {
		return nil, 0
	}
	if a.schema.Defaults() {
		defaulting.Default(next, a.strategy.structural)
	}
	managers, _ := current["managedFields"].([]any)
	managed, ok := a.fields.Update(live, next, managers, a.by)
	if !ok {
		return nil, 0
	}
	return a.store(was, live, next, managed)
}

func (a *write) apply(data []byte) (*store.Record, int) {
	applied, ok := parse(data, true)
	if !ok {
		return nil, 0
	}
	metadata, ok := a.metadata(applied)
	if !ok || !isNew(metadata) || metadata["creationTimestamp"] != nil || metadata["generation"] != nil || metadata["generateName"] != nil {
		return nil, 0
	}
	was, live := a.existing()
	if live == nil {
		return a.applyNew(applied, metadata)
	}
	value, ok := a.fields.Merge(live, applied)
	if !ok {
		return nil, 0
	}
	next := value.(map[string]any)
	if !validity.Metadata(next["metadata"].(map[string]any)) { // both may be right, and too much together
		return nil, 0
	}
	managers, _ := live["metadata"].(map[string]any)["managedFields"].([]any)
	managed, ok := a.fields.Apply(live, applied, next, managers, a.by, a.force)
	if !ok {
		return nil, 0
	}
	if a.schema.Defaults() {
		defaulting.Default(next, a.strategy.structural)
	}
	return a.store(was, live, next, managed)
}

// applyNew makes an object of what is applied, where there is none.
func (a *write) applyNew(applied, metadata map[string]any) (*store.Record, int) {
	key, err := a.objects.key(a.ctx, a.name)
	if err != nil || a.status || metadata["name"] != a.name || !validity.Subdomain(a.name) || a.objects.table.Get(key) != nil || !a.mayCreate() {
		return nil, 0
	}
	managed, ok := a.fields.Apply(nil, applied, applied, nil, a.by, a.force)
	if !ok {
		return nil, 0
	}
	if a.strategy.hasStatus {
		delete(applied, "status")
	}
	if a.schema.Defaults() {
		defaulting.Default(applied, a.strategy.structural)
	}
	return a.insert(applied, metadata, managed)
}

// mayCreate reports whether who applies may create too.
func (a *write) mayCreate() bool {
	info, _ := request.RequestInfoFrom(a.ctx)
	attributes := attributesOf(a.ctx, info)
	attributes.Verb = "create"
	decision, _, err := a.server.authorizer.Authorize(a.ctx, attributes)
	return err == nil && decision == authorizer.DecisionAllow
}

// store writes what the fields of an object are to be, which are complete, over those of the one that is there.
func (a *write) store(was *store.Record, live, next map[string]any, managed []any) (*store.Record, int) {
	if !a.schema.Has(next) {
		return nil, 0
	}
	current := live["metadata"].(map[string]any)
	object, metadata := maps.Clone(next), current
	from := live
	if a.status {
		object, from = maps.Clone(live), next
	} else {
		metadata = next["metadata"].(map[string]any)
	}
	if status, there := from["status"]; (a.status || a.strategy.hasStatus) && there {
		object["status"] = status
	} else if a.status || a.strategy.hasStatus {
		delete(object, "status")
	}
	metadata = maps.Clone(metadata)
	for _, name := range []string{"name", "namespace", "uid", "creationTimestamp", "generation"} {
		if value, there := current[name]; there {
			metadata[name] = value
		}
	}
	delete(metadata, "managedFields")
	if managed != nil {
		metadata["managedFields"] = managed
	}
	delete(metadata, "resourceVersion")
	object["metadata"] = metadata
	if !a.status && !equalBesides(object, live, "metadata") {
		generation, ok := current["generation"].(int64)
		if metadata["generation"] = generation + 1; !ok {
			return nil, 0
		}
	}
	u := &unstructured.Unstructured{Object: object}
	if !a.valid(u, &unstructured.Unstructured{Object: live}) {
		return nil, 0
	}
	if unchanged(object, live) {
		return was, http.StatusOK
	}
	return a.put(was.Key, was, u), http.StatusOK
}

// equalBesides reports whether two objects are the same but for one of their members.
func equalBesides(a, b map[string]any, besides string) bool {
	count := func(m map[string]any) int {
		if _, there := m[besides]; there {
			return len(m) - 1
		}
		return len(m)
	}
	if count(a) != count(b) {
		return false
	}
	for name, value := range a {
		if other, there := b[name]; name != besides && (!there || !fieldset.Equal(value, other)) {
			return false
		}
	}
	return true
}

// unchanged reports whether two objects are the same but for when they were written.
func unchanged(object, live map[string]any) bool {
	now, was := maps.Clone(object["metadata"].(map[string]any)), maps.Clone(live["metadata"].(map[string]any))
	delete(was, "resourceVersion")
	managers, _ := now["managedFields"].([]any)
	before, _ := was["managedFields"].([]any)
	delete(now, "managedFields")
	delete(was, "managedFields")
	return slices.EqualFunc(managers, before, func(a, b any) bool {
		return equalBesides(a.(map[string]any), b.(map[string]any), "time")
	}) && fieldset.Equal(now, was) && equalBesides(object, live, "metadata")
}

// valid reports whether an object is, in place of another one if there is one.
func (a *write) valid(u, was *unstructured.Unstructured) bool {
	st := a.strategy
	if !a.schema.Valid(u.Object) && (len(validation.ValidateCustomResource(nil, u.Object, st.schema)) > 0 || len(listtype.ValidateListSetsAndMaps(nil, st.structural, u.Object)) > 0) {
		return false
	}
	if len(st.validateScale(u, !a.status)) > 0 {
		return false
	}
	if st.rules == nil {
		return true
	}
	var options []cel.Option
	if was != nil {
		options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(u.Object, was.Object, &model.Structural{Structural: st.structural})))
	}
	return len(st.validateRules(a.ctx, nil, u, was, options...)) == 0
}

// put stores an object in place of another one, and returns nil when somebody else was faster.
func (a *write) put(key string, was *store.Record, u *unstructured.Unstructured) *store.Record {
	document, err := store.NewDocument(u.Object)
	if err != nil {
		return nil
	}
	stored := &store.Record{Document: document, Schema: a.objects.codec.(*customCodec).definition, Labels: u.GetLabels()}
	stored.Keep(u)
	if stored.TooLarge(key, was) {
		return nil
	}
	if put, err := a.objects.table.Put(key, was, stored); err != nil || !put {
		return nil
	}
	a.objects.tell()
	return stored
}

// metadata are those of an object of the kind that a client sent, in the one way in which they are written.
func (a *write) metadata(object map[string]any) (map[string]any, bool) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok || object["kind"] != a.strategy.kind.Kind || object["apiVersion"] != a.by.Version {
		return nil, false
	}
	if created, there := metadata["creationTimestamp"]; there && created == nil {
		if a.name != "" {
			object["metadata"] = maps.Clone(metadata) // it may be that of the object that is stored
			metadata = object["metadata"].(map[string]any)
		}
		delete(metadata, "creationTimestamp")
	}
	if space, there := metadata["namespace"]; there && (space != a.space || a.space == "") {
		return nil, false
	}
	if name, there := metadata["name"]; there && (a.name != "" && name != a.name || a.name == "" && !validity.Subdomain(name)) {
		return nil, false
	}
	return metadata, validity.Metadata(metadata)
}

// isNew reports whether metadata say nothing that only the server decides.
func isNew(metadata map[string]any) bool {
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		if _, there := metadata[name]; there {
			return false
		}
	}
	return true
}

// isOf reports whether metadata are of the object that is stored, in the version in which it is.
func isOf(metadata, live map[string]any) bool {
	for _, name := range []string{"uid", "creationTimestamp", "managedFields"} {
		if value, there := metadata[name]; there && !fieldset.Equal(value, live[name]) {
			return false
		}
	}
	return metadata["name"] == live["name"] && metadata["resourceVersion"] == live["resourceVersion"]
}
