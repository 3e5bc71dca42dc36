package fake

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

type ClientBuilder struct{}

func NewClientBuilder() *ClientBuilder                          { return nil }
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch { return nil }

func (f *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder        { return f }
func (f *ClientBuilder) WithRESTMapper(mapper meta.RESTMapper) *ClientBuilder    { return f }
func (f *ClientBuilder) WithObjects(initObjs ...client.Object) *ClientBuilder    { return f }
func (f *ClientBuilder) WithLists(initLists ...client.ObjectList) *ClientBuilder { return f }
func (f *ClientBuilder) WithRuntimeObjects(initRuntimeObjs ...runtime.Object) *ClientBuilder {
	return f
}
func (f *ClientBuilder) WithStatusSubresource(o ...client.Object) *ClientBuilder     { return f }
func (f *ClientBuilder) WithInterceptorFuncs(funcs interceptor.Funcs) *ClientBuilder { return f }
func (f *ClientBuilder) WithReturnManagedFields() *ClientBuilder                     { return f }
func (f *ClientBuilder) WithIndex(obj client.Object, field string, extractValue client.IndexerFunc) *ClientBuilder {
	return f
}
func (f *ClientBuilder) Build() client.WithWatch { return nil }
