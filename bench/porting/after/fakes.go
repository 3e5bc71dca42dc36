package after

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

func FakeClient(t *testing.T, scheme *runtime.Scheme, pod *corev1.Pod) client.Client {
	return testenv.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build()
}

func FakeLists(t *testing.T, scheme *runtime.Scheme, pods *corev1.PodList) client.Client {
	return testenv.NewClientBuilder().WithScheme(scheme).WithLists(pods).Build()
}

func FakeStatus(t *testing.T, scheme *runtime.Scheme, pod *corev1.Pod) client.Client {
	return testenv.NewClientBuilder().WithScheme(scheme).WithObjects(pod).WithStatusSubresource(pod).Build()
}

func FakeIndex(ctx context.Context, scheme *runtime.Scheme, owners func(object.Object) []string) client.Client {
	return testenv.NewClientBuilder().WithScheme(scheme).WithIndex(&corev1.Pod{}, "spec.owner", owners).Build()
}

func FakeInterceptor(scheme *runtime.Scheme) client.Client {
	return testenv.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(client.Interceptor{
		Update: func(ctx context.Context, next client.Client, o object.Object, opts ...client.UpdateOption) error {
			return errors.New("no")
		},
	}).Build()
}

func FakeApply(ctx context.Context, c client.Client) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web",
		Labels: map[string]string{"app": "web"}}}
	return c.Apply(ctx, pod, client.FieldOwner("me"), client.ForceOwnership)
}

func FakeTypes(t *testing.T) *testenv.Env {
	return testenv.Start(t, testenv.WithCRDs("config/crd"))
}

func FakeDeletion(ctx context.Context, t *testing.T, live *client.REST, pod *corev1.Pod) error {
	pod.Finalizers = []string{"example.com/cleanup"}
	if err := live.Create(ctx, pod); err != nil {
		return err
	}
	return live.Delete(ctx, pod)
}

func FakeTracker(ctx context.Context, live *client.REST, pod *corev1.Pod) error {
	return live.Update(ctx, pod)
}

func FakeMapper(live *client.REST) meta.RESTMapper {
	return live.RESTMapper()
}

func FakeWatch(ctx context.Context, live *client.REST) (client.Stream[object.Object], error) {
	return live.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"))
}
