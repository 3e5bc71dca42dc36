package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Put stores an object as given, with its status, UID, finalizers, managed fields and times, including the deletion
// timestamp. A write of a client would replace these values. The resource must be served, and the name must be unused.
// The server sets defaults, validates the object, and sets a UID and a creation time if the object has none. Put does
// not modify object.
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
	if !ok {
		return e.objects
	}
	return givenStorage{storage.stored(), given}
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
