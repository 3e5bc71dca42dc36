package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Put stores an object as given, with its status, UID, finalizers, managed fields and times, including the deletion
// timestamp. A write of a client would replace these values. The resource must be served, and the name must be unused.
// An unchecked server also keeps the object's resource version. Any other server sets defaults, validates the object,
// and sets a UID and a creation time if the object has none. Put does not modify object.
func (s *Server) Put(ctx context.Context, resource schema.GroupVersionResource,
	object *unstructured.Unstructured) error {
	bare := object.DeepCopy()
	bare.SetResourceVersion("")
	bare.SetManagedFields(nil)
	data, err := bare.MarshalJSON()
	if err != nil {
		return err
	}
	path := "/" + openAPIPath(resource.GroupVersion())
	if namespace := object.GetNamespace(); namespace != "" && resource != namespaceResource {
		path += "/namespaces/" + namespace
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, givenKey{}, object), http.MethodPost,
		path+"/"+resource.Resource, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", runtime.ContentTypeJSON)
	r.Header.Set("Accept", runtime.ContentTypeJSON)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusCreated {
		var status metav1.Status
		if err := runtime.DecodeInto(metaCodecs.UniversalDeserializer(), w.Body.Bytes(), &status); err != nil {
			return fmt.Errorf("%d: %s", w.Code, w.Body)
		}
		return fmt.Errorf("%s", status.Message)
	}
	return nil
}

// givenKey is the context key of the object in a request of Put.
type givenKey struct{}

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// storageFor returns the storage for a creation. For Put, this is the registry itself.
func (e *endpoint) storageFor(r *http.Request) rest.Creater {
	storage, has := e.objects.(interface{ stored() *registry })
	if !has {
		return e.objects
	}
	given, ok := r.Context().Value(givenKey{}).(*unstructured.Unstructured)
	if _, asGiven := storage.stored().strategy.(uncheckedStrategy); asGiven && !ok {
		given, ok = createdIn(r), true
	}
	if !ok {
		return e.objects
	}
	return givenStorage{storage.stored(), given}
}

// createdIn returns the metadata in the body of a creation that upstream's handler removes, except the metadata of a
// deletion. The body can be read again afterwards.
func createdIn(r *http.Request) *unstructured.Unstructured {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	left := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), left), left}
	created := &unstructured.Unstructured{Object: map[string]any{}}
	var body metav1.PartialObjectMetadata
	if err != nil || json.Unmarshal(data, &body) != nil {
		return created // the handler reports the error
	}
	created.SetUID(body.UID)
	created.SetCreationTimestamp(body.CreationTimestamp)
	created.SetGeneration(body.Generation)
	return created
}

// givenStorage creates one object unchanged.
type givenStorage struct {
	*registry
	given *unstructured.Unstructured
}

// Create implements [rest.Creater]. It restores the fields that the calling handler has removed because clients may not
// set them.
func (g givenStorage) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	r := *g.registry
	r.first, _ = strconv.ParseInt(g.given.GetResourceVersion(), 10, 64) // an invalid number is treated as unset
	r.strategy = givenStrategy{strategy: r.strategy, given: g.given, status: statusOf(object)}
	return r.Create(ctx, object, validate, options)
}

// givenStrategy is the strategy for an object that is created unchanged.
type givenStrategy struct {
	strategy
	defaultConfig
	given  *unstructured.Unstructured
	status any
}

func (s givenStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	s.strategy.PrepareForCreate(ctx, object)
	setStatusOf(object, s.status)
	to, from := must.Access(object), s.given
	if uid := from.GetUID(); uid != "" {
		to.SetUID(uid)
	}
	if created := from.GetCreationTimestamp(); !created.IsZero() {
		to.SetCreationTimestamp(created)
	}
	if generation := from.GetGeneration(); generation != 0 {
		to.SetGeneration(generation)
	}
	if fields := from.GetManagedFields(); len(fields) > 0 {
		to.SetManagedFields(fields)
	}
	if deleted := from.GetDeletionTimestamp(); deleted != nil {
		to.SetDeletionTimestamp(deleted)
		to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	}
}

// ValidateDeclaratively implements [rest.DeclarativeValidationStrategy] with the underlying strategy.
func (s givenStrategy) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, problems field.ErrorList,
	of operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	if declarative, ok := s.strategy.(rest.DeclarativeValidationStrategy); ok {
		return declarative.ValidateDeclaratively(ctx, object, old, problems, of, config)
	}
	return problems
}

// NoUID is the UID that an unchecked server gives objects without a UID, because upstream's handlers treat such objects
// as missing.
const NoUID types.UID = "kctrl-no-uid"

// uncheckedStrategy is the strategy of an unchecked server. Only the status subresource writes the status, and all
// other fields are stored unchanged.
type uncheckedStrategy struct {
	strategy
	defaultConfig
	status bool // only the status is written
	other  bool // the status is not written
}

func (s uncheckedStrategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	if s.other {
		setStatusOf(object, nil)
	}
	must.Access(object).SetUID(NoUID)
	must.Access(object).SetCreationTimestamp(metav1.Time{})
}

func (s uncheckedStrategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	switch {
	case s.other:
		setStatusOf(object, statusOf(old))
	case s.status:
		status, fields := statusOf(object), must.Access(object).GetManagedFields()
		become(object, old.DeepCopyObject())
		must.Access(object).SetManagedFields(fields)
		setStatusOf(object, status)
	}
}

func (uncheckedStrategy) Canonicalize(runtime.Object)                              {}
func (uncheckedStrategy) Validate(context.Context, runtime.Object) field.ErrorList { return nil }
func (uncheckedStrategy) ValidateUpdate(_ context.Context, _, _ runtime.Object) field.ErrorList {
	return nil
}
func (uncheckedStrategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (uncheckedStrategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string {
	return nil
}

// ValidateDeclaratively implements [rest.DeclarativeValidationStrategy]. It also drops the errors that upstream reports
// for metadata.
func (uncheckedStrategy) ValidateDeclaratively(_ context.Context, _, _ runtime.Object, _ field.ErrorList,
	_ operation.Type, _ rest.DeclarativeValidationConfig) field.ErrorList {
	return nil
}

// CheckGracefulDelete implements [rest.RESTGracefulDeleteStrategy]. It sets no grace period, because no controller
// would complete the deletion.
func (uncheckedStrategy) CheckGracefulDelete(context.Context, runtime.Object, *metav1.DeleteOptions) bool {
	return false
}

// unchecked sets the strategy of an unchecked server on the registries of a resource and its status.
func (s *Server) unchecked(objects, status *registry) {
	if !s.options.Unchecked || objects.kind.GroupKind() == definitionKind.GVK.GroupKind() {
		return
	}
	objects.strategy = uncheckedStrategy{strategy: objects.strategy, other: status != nil}
	objects.allocate, objects.deletable = nil, nil
	if status != nil {
		status.strategy = uncheckedStrategy{strategy: status.strategy, status: true}
		status.allocate, status.deletable = nil, nil
	}
}

// statusOf returns the status of an object, or nil.
func statusOf(object runtime.Object) any {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.Object["status"]
	}
	if field := reflect.ValueOf(object).Elem().FieldByName("Status"); field.IsValid() {
		return field.Interface()
	}
	return nil
}

// setStatusOf sets the status of an object. If status is nil, it removes the status.
func setStatusOf(object runtime.Object, status any) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		if delete(u.Object, "status"); status != nil {
			u.Object["status"] = status
		}
		return
	}
	field := reflect.ValueOf(object).Elem().FieldByName("Status")
	switch {
	case !field.IsValid():
	case status == nil:
		field.SetZero()
	default:
		field.Set(reflect.ValueOf(status))
	}
}

// become sets object to other.
func become(object, other runtime.Object) {
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(other).Elem())
}

// BuiltinScheme returns a new scheme with the built-in kinds. The scheme sets no defaults.
func BuiltinScheme() *runtime.Scheme { return newBuiltinScheme(builtinKinds(), func(any) {}) }
