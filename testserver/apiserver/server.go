package apiserver

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	clientrest "k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// Options configure a server. With the zero value, the server is like a real server that has just started.
type Options struct {
	// Seed determines UIDs and generated names. With the same seed and the same sequential requests, a server returns the
	// same responses. Timestamps come from the clock, which is virtual in a synctest bubble.
	Seed uint64
	// History is the number of changes of each resource that are kept for watches and earlier lists. The default is
	// 4096.
	History int
	// Isolated makes calls of webhooks outside of this process fail immediately, without network access.
	Isolated bool
}

// Server is an in-memory API server, which New or Open returns. It is safe for concurrent use.
type Server struct {
	options    Options
	store      *store.Store
	names      *generator
	builtin    map[schema.GroupVersionResource]func() *endpoint
	crds       *registry
	crdScope   *handlers.RequestScope // scope of the status, for writes of the server itself
	resolver   request.RequestInfoResolver
	admission  admissions
	roles      *roleAuthorizer
	authorizer authorizer.Authorizer
	key        []byte                        // key for signing tokens
	hosts      hosts                         // webhooks in this process
	clients    func() *webhook.ClientManager // clients of webhooks
	guards     []*store.Table                // tables of webhook configurations and policies
	plain      bool                          // disables the fast path for writes of custom resources; tests compare both
	ctx        context.Context               // ends with Close
	cancel     context.CancelFunc
	requests   sync.WaitGroup

	definitions definitions
	openAPI     openAPI
}

// maxBody is the maximum size of a request body.
const maxBody = 3 << 20

// New returns a server. It starts no goroutine; each request has one while it is served, for which Close waits.
func New(options Options) *Server {
	s := newServer(options)
	must.Do(s.createFirst())
	return s
}

// DataError is the reason why a file of objects cannot be used. Open does not change the file.
type DataError struct {
	Path   string
	Line   int   // 0 for an error of the file
	Offset int64 // of the line
	Err    error
}

func (e *DataError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	if e.Offset == 0 {
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: byte %d: %v", e.Path, e.Line, e.Offset, e.Err)
}

func (e *DataError) Unwrap() error { return e.Err }

// Open returns a server with the objects in the file at path, in which it persists its objects. It creates a missing
// file. A write is on the disk before it is acknowledged or visible. If the process or the machine fails, the next
// server has all acknowledged writes, and possibly some of the writes that were in progress. Concurrent writes share
// one wait for the disk. The history is not persisted, so a watch from an earlier version fails with 410 Gone.
//
// Only one server may use a file at a time; the caller must ensure this. If the file is damaged or has a later version,
// the error is a [*DataError].
func Open(path string, options Options) (*Server, error) {
	s := newServer(options)
	if err := s.store.Open(path, s.makeBuiltin); err != nil {
		if e, unreadable := errors.AsType[*store.LineError](err); unreadable {
			return nil, &DataError{Path: path, Line: e.Line, Offset: e.Offset, Err: e.Err}
		}
		return nil, err
	}
	s.names.random = rand.New(rand.NewPCG(options.Seed, uint64(s.store.Current()))) // new names differ from existing ones
	if err := s.createFirst(); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.reconcileDefinitions()
	return s, nil
}

// Repair drops the damaged lines of the file at path, and returns a report, or "" if there was no damage. No server may
// have the file open. The writes in these lines are lost, so their objects have the state of earlier writes. The
// damaged file is kept beside the repaired one.
func Repair(path string) (report string, err error) {
	r, err := store.Repair(path)
	if err != nil || r.Dropped == 0 {
		return "", err
	}
	return fmt.Sprintf("%s: dropped %d damaged lines of %d (%d bytes); the damaged file is %s", path, r.Dropped,
		r.Dropped+r.Kept, r.Bytes, r.Copy), nil
}

// Fork returns a server that begins with the objects of s, and with the history of its built-in kinds. It takes a
// fraction of the time that it would take to create them, and shares the data that s has prepared for its definitions.
// Later writes to one of the servers do not affect the other server. s must be a server that New returned, without
// requests in progress.
func (s *Server) Fork(seed uint64) *Server {
	options := s.options
	options.Seed = seed
	f := newServerOn(options, s.store.Fork())
	f.definitions.prepared = s.definitions.prepared
	s.definitions.mu.Lock()
	defer s.definitions.mu.Unlock()
	maps.Copy(f.definitions.read, s.definitions.read)
	return f
}

func newServer(options Options) *Server {
	return newServerOn(options, store.New(cmp.Or(options.History, 4096)))
}

func newServerOn(options Options, objects *store.Store) *Server {
	s := &Server{
		options: options,
		store:   objects,
		names:   &generator{random: rand.New(rand.NewPCG(options.Seed, 0))},
		resolver: &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
			GrouplessAPIPrefixes: sets.NewString("api")},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.definitions.prepared, s.definitions.served = &preparations{}, map[string]*definition{}
	s.definitions.read = map[*store.Record]*apiextensionsv1.CustomResourceDefinition{}
	s.roles = s.newAuthorizer()
	s.authorizer, s.key = s.roles, fmt.Append(nil, "token ", options.Seed)
	s.clients = sync.OnceValue(s.newClients)
	s.guards = []*store.Table{s.tableOf(builtin.MutatingHookKind), s.tableOf(builtin.ValidatingHookKind),
		s.tableOf(builtin.PolicyKind()), s.tableOf(builtin.MutatingPolicyKind())}
	s.builtin = s.newKinds()
	s.admission = s.newAdmissions()
	return s
}

// makeBuiltin creates the endpoints of a built-in resource, and thereby sets the object type of its table.
func (s *Server) makeBuiltin(resource schema.GroupResource) {
	for gvr, endpoint := range s.builtin {
		if gvr.Resource == resource.Resource { // in any group, because another group may store the objects
			endpoint()
		}
	}
}

// createFirst creates the initial objects of every server, unless they exist.
func (s *Server) createFirst() error {
	if err := s.addFirstRoles(); err != nil {
		return err
	}
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease", "default"} {
		if err := s.createNamespace(name); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return s.createService()
}

// createService creates the Service of the API server, which gets the first address.
func (s *Server) createService() error {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	if s.store.Table(resource.GroupResource()).Get("/registry/services/default/kubernetes") != nil {
		return nil
	}
	return s.Put(context.Background(), resource, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{
			"namespace": metav1.NamespaceDefault, "name": "kubernetes",
			"labels": map[string]any{"component": "apiserver", "provider": "kubernetes"},
		},
		"spec": map[string]any{"ports": []any{map[string]any{"name": "https", "port": int64(443)}}},
	}})
}

// Config returns a new configuration for clients that have all permissions. The caller owns it.
func (s *Server) Config() *clientrest.Config {
	return &clientrest.Config{
		Host:      "http://in-memory",
		Transport: &transport{begin: s.begin, ctx: s.ctx, requests: &s.requests, server: s},
		QPS:       -1,
	}
}

// Close ends all requests and waits for them, except for the requests of Serve, for which Serve waits. Later requests
// fail. Further calls of Close have no effect.
func (s *Server) Close() {
	s.cancel()
	s.requests.Wait()
	_ = s.store.Close() // each write is already on the disk
}

// Compact drops the history, as a server does periodically: watches from earlier versions fail with 410 Gone.
func (s *Server) Compact() { s.store.Compact() }

// ServeHTTP serves a request. If the request's context has no user, the request has administrator permissions.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r, rest := s.begin(w, r); rest != nil {
		rest(w, r)
	}
}

// begin parses and authorizes a request. If it rejects the request, or can answer it without a wait, it writes the
// response. Otherwise it returns the handler that writes the response.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (*http.Request, http.HandlerFunc) {
	if strings.HasPrefix(r.URL.Path, "//") {
		http.NotFound(w, r)
		return r, nil
	}
	info, err := s.resolver.NewRequestInfo(r)
	if err != nil {
		responsewriters.InternalError(w, r, fmt.Errorf("failed to create RequestInfo: %v", err))
		return r, nil
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	ctx := request.WithRequestInfo(r.Context(), info)
	timeout, err := timeoutOf(r, info)
	var who user.Info
	var denied *authorizer.AttributesRecord
	var reason string
	if err == nil {
		who, denied, reason, err = s.identify(ctx, r)
	}
	if err != nil {
		responsewriters.RespondWithError(w, r.WithContext(ctx), err, metaCodecs)
		return r, nil
	}
	if denied == nil {
		ctx = request.WithUser(ctx, who)
		attributes := attributesOf(ctx, info)
		var decision authorizer.Decision
		if decision, reason, err = s.authorizer.Authorize(ctx, attributes); err != nil ||
			decision != authorizer.DecisionAllow {
			denied = &attributes
		}
	}
	if denied != nil {
		responsewriters.Forbidden(denied, w, r.WithContext(ctx), reason, metaCodecs)
		return r, nil
	}
	ctx = warning.WithWarningRecorder(ctx, &warnings{header: w.Header()})
	r = r.WithContext(ctx)
	if !info.IsResourceRequest {
		return r, s.serveDiscovery
	}
	if e := s.endpointOf(schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion,
		Resource: info.Resource}); e != nil {
		return r, within(timeout, s.beginOn(w, r, info, e, s.admission))
	}
	return r, within(timeout, s.beginCustom(w, r, info))
}

// within returns a handler that sets a deadline on requests.
func within(timeout time.Duration, handler http.HandlerFunc) http.HandlerFunc {
	if timeout == 0 || handler == nil {
		return handler
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		handler(w, r.WithContext(ctx))
	}
}

// longest is the maximum duration of requests other than watches.
const longest = time.Minute

// timeoutOf returns the timeout of a request, which is the requested one but at most longest. 0 means no timeout.
func timeoutOf(r *http.Request, info *request.RequestInfo) (time.Duration, error) {
	if info.Verb == "watch" || slices.Contains([]string{"proxy", "exec", "attach", "portforward", "log"},
		info.Subresource) {
		return 0, nil
	}
	if !strings.Contains(r.URL.RawQuery, "timeout") || r.URL.Query().Get("timeout") == "" {
		return longest, nil
	}
	timeout, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	switch {
	case err != nil:
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	case timeout <= 0:
		return longest, nil
	}
	return min(timeout, longest), nil
}

var administrator = &user.DefaultInfo{Name: "kubernetes-admin",
	Groups: []string{"system:masters", "system:authenticated"}}

// endpoint serves a kind in one version.
type endpoint struct {
	objects  rest.StandardStorage
	registry *registry    // the registry of objects, which may wrap it
	review   rest.Creater // for kinds that are answered and not stored
	scope    *handlers.RequestScope
	parts    map[string]part // subresources by name
	patches  []string        // types of patches
	warnings []string        // for each request
	custom   bool
	kind     *kind // of a built-in kind
}

// part is a subresource. A subresource without a Getter can only be updated.
type part struct {
	storage rest.Updater
	scope   *handlers.RequestScope
	creater rest.NamedCreater                                                       // of one that can only be created
	serve   func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) // of one that is not an object
}

var customPatches = []string{string(types.JSONPatchType), string(types.MergePatchType),
	string(types.ApplyYAMLPatchType)}

// minimumTimeout is the minimum timeout of watches that do not request one. They end after one to two times this
// duration.
const minimumTimeout = 30 * time.Minute

// beginOn is like begin, for a request for a kind.
func (s *Server) beginOn(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint,
	admit admission.Interface) http.HandlerFunc {
	if !e.custom && !negotiate(w, r, info, e) {
		return nil
	}
	if _, ok := e.parts[info.Subresource]; e.custom || info.Verb != "" && (ok || info.Subresource == "") {
		for _, text := range e.warnings {
			warning.AddWarning(r.Context(), "", text)
		}
	}
	if getVerbatim(w, r, info, e) {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := request.WithReceivedTimestamp(r.Context(), time.Now())
		s.serve(w, r.WithContext(audit.WithAuditContext(ctx)), info, e, admit)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint,
	admit admission.Interface) {
	if _, going := admit.(noCreation); e.custom && !going && !s.plain && s.isUnguarded() && s.open(info.Namespace) {
		admit = nil // without admission, objects and their managedFields are not copied
		r = r.WithContext(context.WithValue(r.Context(), unguarded{}, true))
	}
	if info.Subresource != "" {
		s.servePart(w, r, info, e, admit)
		return
	}
	if e.review != nil {
		handlers.CreateResource(e.review, e.scope, admit)(w, r)
		return
	}
	if listVerbatim(w, r, info, e) {
		return
	}
	switch info.Verb {
	case "get":
		handlers.GetResource(e.objects, e.scope)(w, r)
	case "list", "watch":
		handlers.ListResource(e.objects, e.objects, e.scope, info.Verb == "watch", minimumTimeout)(w, r)
	case "create":
		handlers.CreateResource(e.storageFor(r), e.scope, admit)(w, r)
	case "update":
		handlers.UpdateResource(e.objects, e.scope, admit)(w, r)
	case "patch":
		handlers.PatchResource(e.objects, e.scope, admit, e.patches)(w, r)
	case "delete":
		handlers.DeleteResource(e.objects, true, e.scope, admit)(w, r)
	case "deletecollection":
		handlers.DeleteCollection(e.objects, true, e.scope, admit)(w, r)
	default:
		notAllowed(w, r, info, e)
	}
}

func (s *Server) servePart(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint,
	admit admission.Interface) {
	p, ok := e.parts[info.Subresource]
	if !ok && e.custom {
		writeError(w, r, info, apierrors.NewNotFound(resourceOf(info), info.Name))
		return
	}
	patcher, patches := p.storage.(rest.Patcher)
	switch {
	case !ok:
		http.NotFound(w, r)
	case p.serve != nil:
		p.serve(w, r, info)
	case p.creater != nil && info.Verb == "create":
		handlers.CreateNamedResource(p.creater, p.scope, admit)(w, r)
	case p.storage == nil:
		notAllowed(w, r, info, e)
	case info.Verb == "get" && patches:
		handlers.GetResource(patcher, p.scope)(w, r)
	case info.Verb == "update":
		handlers.UpdateResource(p.storage, p.scope, admit)(w, r)
	case info.Verb == "patch" && patches:
		handlers.PatchResource(patcher, p.scope, admit, e.patches)(w, r)
	default:
		notAllowed(w, r, info, e)
	}
}

// produced are the media types of responses.
var produced = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}

// negotiate checks the media types of a request for a built-in kind. If the path does not support them, it answers like
// the real server's router, which does so before it calls a handler. The only pattern is */*, and types are
// case-sensitive. negotiate reports whether the request must still be handled.
func negotiate(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint) bool {
	produced := slices.Clone(produced)
	if info.Verb == "list" || info.Verb == "watch" {
		produced = append(produced, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	_, known := e.parts[info.Subresource]
	one, all := info.Verb == "update" || info.Verb == "patch", info.Verb == "create"
	deeper := len(info.Parts) > 3 && info.Subresource != "proxy"
	// such a path has only lists
	everywhere := e.kind.Namespaced && e.kind.Verbs == nil && info.Namespace == ""
	elsewhere := !e.kind.Namespaced && info.Namespace != "" && info.Resource != "namespaces"
	// a review has one path, and can only be created
	unanswered := e.review != nil && (len(info.Parts) > 1 || e.kind.Namespaced && info.Namespace == "")
	_, oneByOne := e.objects.(*namespaceStorage)
	switch {
	case deeper || elsewhere || unanswered || everywhere && len(info.Parts) > 1:
		routeError(w, r, info, http.StatusNotFound, "404: Page Not Found")
	case r.Method == http.MethodHead || info.Verb == "watch" && r.Method != http.MethodGet || e.review != nil &&
		info.Verb != "create" || everywhere && info.Verb != "list" && info.Verb != "watch":
		notAllowed(w, r, info, e)
	case info.Subresource == "" && (one && info.Name == "" || all && info.Name != "") || oneByOne &&
		info.Verb == "deletecollection":
		notAllowed(w, r, info, e)
	case info.Subresource != "" && !known:
		routeError(w, r, info, http.StatusNotFound, "404: Page Not Found")
	case info.Verb == "patch" && !names(r.Header.Get("Content-Type"), e.patches):
		routeError(w, r, info, http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	default:
		return acceptable(w, r, info, produced)
	}
	return false
}

// notFound answers requests for unknown paths in a group. If the group has built-in kinds, it answers like the router.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, group string) {
	for resource := range s.builtin {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && resource.Group == group {
			routeError(w, r, info, http.StatusNotFound, "404: Page Not Found")
			return
		}
	}
	http.NotFound(w, r)
}

// routeError answers with an error of the router.
func routeError(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, code int, message string) {
	writeError(w, r, info, apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false))
}

// writeError answers with an error in the requested version.
func writeError(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, err error) {
	responsewriters.ErrorNegotiated(err, metaCodecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion},
		w, r)
}

// names reports whether one of the media types in a header is one of the given types. Parameters of media types are
// ignored.
func names(header string, types []string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one, _, _ = strings.Cut(one, ";")
		if slices.Contains(types, strings.TrimSpace(one)) {
			return true
		}
	}
	return false
}

func notAllowed(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint) {
	if e.custom {
		writeError(w, r, info, apierrors.NewMethodNotSupported(resourceOf(info), info.Verb))
	} else {
		routeError(w, r, info, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	}
}

func resourceOf(info *request.RequestInfo) schema.GroupResource {
	return schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
}

// metaScheme has the types without a group: options, Status, and the documents of discovery.
var (
	metaScheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		v1 := schema.GroupVersion{Version: "v1"}
		metav1.AddToGroupVersion(scheme, v1)
		scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.WatchEvent{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
			&metav1.APIGroup{}, &metav1.APIResourceList{})
		return scheme
	}()
	metaCodecs = serializer.NewCodecFactory(metaScheme)
)

// warnings are the warnings of one request. They are headers of its response, without duplicates.
type warnings struct {
	mu     sync.Mutex
	header http.Header
}

func (w *warnings) AddWarning(agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	header, err := utilnet.NewWarningHeader(299, agent, text)
	if text != "" && err == nil && !slices.Contains(w.header["Warning"], header) {
		w.header.Add("Warning", header)
	}
}

// generator generates UIDs and names from a seed. It is safe for concurrent use.
type generator struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (g *generator) uid() types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], g.random.Uint64())
	binary.LittleEndian.PutUint64(id[8:], g.random.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4 and variant
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]))
}

// GenerateName appends five random characters to a name, which it truncates if necessary.
func (g *generator) GenerateName(base string) string {
	const characters, suffix, most = "bcdfghjklmnpqrstvwxz2456789", 5, 63
	g.mu.Lock()
	defer g.mu.Unlock()
	var name strings.Builder
	name.WriteString(base[:min(len(base), most-suffix)])
	for range suffix {
		name.WriteByte(characters[g.random.IntN(len(characters))])
	}
	return name.String()
}

// open reports whether objects may be created in a namespace.
func (s *Server) open(name string) bool {
	if name == "" {
		return true
	}
	namespace := s.namespace(name)
	return namespace != nil && namespace.Status.Phase != "Terminating"
}

// unguarded marks the contexts of writes that have no admission.
type unguarded struct{}

// isUnguarded reports whether no webhooks and no policies review writes.
func (s *Server) isUnguarded() bool { return !s.store.HasAny(s.guards) }
