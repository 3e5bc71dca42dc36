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
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/testenv/inmemory"
)

func FakeClient(t *testing.T, scheme *runtime.Scheme, pod *corev1.Pod) (*client.REST, error) {
	env := inmemory.Start(t, testenv.WithObjects(scheme, pod))
	return client.New(env.Config, client.Options{Scheme: scheme})
}

func FakeLists(t *testing.T, scheme *runtime.Scheme, pods *corev1.PodList) *testenv.Env {
	var objects []client.Object
	for i := range pods.Items {
		objects = append(objects, &pods.Items[i])
	}
	return inmemory.Start(t, testenv.WithObjects(scheme, objects...))
}

func FakeStatus(t *testing.T, scheme *runtime.Scheme, pod *corev1.Pod) *testenv.Env {
	return inmemory.Start(t, testenv.WithCRDs("config/crd"), testenv.WithObjects(scheme, pod))
}

func FakeIndex(ctx context.Context, t *testing.T, owners func(client.Object) []string) error {
	m, err := manager.New(inmemory.Start(t).Config, manager.Options{})
	if err != nil {
		return err
	}
	return m.Cache().IndexField(ctx, &corev1.Pod{}, "spec.owner", owners)
}

func FakeInterceptor(live *client.REST) client.Client {
	return client.Intercept(live, client.Interceptor{
		Update: func(ctx context.Context, next client.Client, o client.Object, opts ...client.UpdateOption) error {
			return errors.New("no")
		},
	})
}

func FakeApply(ctx context.Context, c client.Client) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"app": "web"}}}
	return c.Apply(ctx, pod, client.FieldOwner("me"), client.ForceOwnership)
}

func FakeTypes(t *testing.T) *testenv.Env {
	return inmemory.Start(t, testenv.WithCRDs("config/crd"))
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

func FakeWatch(ctx context.Context, live *client.REST) (client.Stream[client.Object], error) {
	return live.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"))
}
