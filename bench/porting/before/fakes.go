// The fake client and the in-memory API server.

package before

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// `WithScheme`, `WithObjects`: create a client with existing objects
func FakeClient(scheme *runtime.Scheme, pod *corev1.Pod) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build()
}

// `WithLists`, `WithRuntimeObjects`: create a client with the objects of lists
func FakeLists(scheme *runtime.Scheme, pods *corev1.PodList) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithLists(pods).Build()
}

// `WithStatusSubresource`: make writes ignore the status. In kctrl, the kind or its CRD decides this
func FakeStatus(scheme *runtime.Scheme, pod *corev1.Pod) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).WithStatusSubresource(pod).Build()
}

// `WithIndex`: list objects by an index. The API server supports selectable fields, and a cache supports any field
func FakeIndex(scheme *runtime.Scheme, owners client.IndexerFunc) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithIndex(&corev1.Pod{}, "spec.owner", owners).Build()
}

// `WithInterceptorFuncs`: make calls fail
func FakeInterceptor(scheme *runtime.Scheme) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, next client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return errors.New("no")
		},
	}).Build()
}

// Use server-side apply, with conflicts between field managers
func FakeApply(ctx context.Context, c client.Client) error {
	pod := corev1ac.Pod("web", "default").WithLabels(map[string]string{"app": "web"})
	return c.Apply(ctx, pod, client.FieldOwner("me"), client.ForceOwnership)
}

// `WithTypeConverters`: define how apply merges lists. In kctrl, the schema defines it, and objects have managedFields
func FakeTypes(scheme *runtime.Scheme) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().Build()
}

// Create an object with a deletion timestamp. In kctrl, add a finalizer that delays its deletion
func FakeDeletion(scheme *runtime.Scheme, pod *corev1.Pod) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build()
}

// `WithObjectTracker`: read and write without the client under test. In kctrl, use another client
func FakeTracker(tracker clienttesting.ObjectTracker, pod *corev1.Pod) error {
	return tracker.Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, pod.Namespace)
}

// `WithRESTMapper`: map kinds to resources. In kctrl, the client gets the mapping from the server
func FakeMapper(scheme *runtime.Scheme, mapper meta.RESTMapper) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).Build()
}

// Watch a list
func FakeWatch(ctx context.Context, c client.WithWatch) (watch.Interface, error) {
	return c.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"))
}
