package controller_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// fixOfAUserIsTriedAtOnce uses a request that fails each time after it has written its object and an owned one. These
// writes do not end the backoff. When a user changes the spec, the request is retried at once.
func fixOfAUserIsTriedAtOnce(f *fixture) {
	const failures, base = 14, time.Millisecond
	failed := make(chan time.Time, 1000)
	f.create(&corev1.ReplicationController{
		ObjectMeta: newConfigMap(f.namespace, "a").ObjectMeta,
		Spec: corev1.ReplicationControllerSpec{
			Selector: map[string]string{"app": "a"},
			Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
			Replicas: new(int32),
		},
	})
	f.run(f.config, func(m *keeper) error {
		return controller.For[*corev1.ReplicationController](m).Owns(&corev1.Secret{}).
			WithOptions(controller.Options{BaseDelay: base}).
			Complete(f.failsAfterWrites(m.Client(), failed))
	})
	first := <-failed
	last := first
	for range failures - 1 {
		last = <-failed
	}
	if least := base<<(failures-1) - base; last.Sub(first) < least {
		f.Errorf("%d attempts took %v, want at least %v", failures, last.Sub(first), least)
	}
	o := &corev1.ReplicationController{ObjectMeta: newConfigMap(f.namespace, "a").ObjectMeta}
	patched := time.Now()
	if err := f.client.Patch(f.ctx, o, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"replicas":2}}`))); err != nil {
		f.Fatal(err)
	}
	next := <-failed
	f.Logf("attempt %v after the change; the backoff would have ended after %v", next.Sub(patched),
		last.Add(base<<(failures-1)).Sub(patched))
	if next.Sub(last) >= base<<(failures-1) {
		f.Errorf("the next attempt came %v after the last, as if nothing had changed", next.Sub(last))
	}
}

// failsAfterWrites returns a reconciler that counts its attempts in an annotation of the object and in a Secret that it
// owns, and then fails.
func (f *fixture) failsAfterWrites(c client.Client, failed chan<- time.Time) reconcile.Func[reconcile.Request] {
	attempts := 0
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		attempts++
		var o corev1.ReplicationController
		if err := c.Get(ctx, request.NamespacedName, &o); err != nil {
			return reconcile.Result{}, err
		}
		before := o.DeepCopy()
		o.Annotations = map[string]string{"attempt": fmt.Sprint(attempts)}
		err := c.Patch(ctx, &o, client.MergeFromWithOptimisticLock(before))
		o.Status.Replicas = int32(attempts)
		err = errors.Join(err, c.Status().Update(ctx, &o))
		err = errors.Join(err, f.keepsCount(ctx, c, &o, attempts))
		failed <- time.Now()
		return reconcile.Result{}, errors.Join(errBroken, err)
	}
}

// keepsCount writes the number of the attempt to a Secret that o owns.
func (f *fixture) keepsCount(ctx context.Context, c client.Client, o *corev1.ReplicationController, attempt int) error {
	owned := secret(o.Namespace, o.Name)
	if err := c.Get(ctx, object.KeyOf(owned), owned); client.IgnoreNotFound(err) != nil {
		return err
	}
	owned.StringData = map[string]string{"attempt": fmt.Sprint(attempt)}
	if err := controllerutil.SetControllerReference(o, owned, c.Scheme()); err != nil {
		return err
	}
	if owned.ResourceVersion == "" {
		return c.Create(ctx, owned)
	}
	return c.Update(ctx, owned)
}

// runnable makes a function a runnable.
type runnable func(ctx context.Context) error

func (r runnable) Run(ctx context.Context) error { return r(ctx) }

// otherWritesOfTheProcessEndNoBackoff tests the conditional writes of a runnable. A watch delivers most of them before
// their answers arrive. They do not end the backoff of a request. The next change by a user ends it, and so does a
// change by another controller's reconcile.
func otherWritesOfTheProcessEndNoBackoff(f *fixture) {
	const writes = 30
	f.create(newConfigMap(f.namespace, "a"))
	attempts, written := make(chan string, writes), make(chan struct{})
	f.run(f.config, func(m *keeper) error {
		c := m.Client()
		writer := runnable(func(ctx context.Context) error {
			defer close(written)
			if first := <-attempts; first != "" {
				return fmt.Errorf("the first attempt is at %q", first)
			}
			o := newConfigMap(f.namespace, "a")
			err := c.Get(ctx, object.KeyOf(o), o)
			for n := range writes {
				o.Annotations = map[string]string{"by": fmt.Sprint(n)}
				err = errors.Join(err, c.Update(ctx, o))
			}
			return err
		})
		chained := reconcile.Func[reconcile.Request](func(ctx context.Context,
			request reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, c.Patch(ctx, newConfigMap(f.namespace, "a"), annotate("the controller before it"))
		})
		return errors.Join(m.Add(writer), controller.For[*corev1.Secret](m).Complete(chained),
			controller.For[*corev1.ConfigMap](m).Named("backing off").
				WithOptions(controller.Options{BaseDelay: time.Hour}).
				Complete(reconcile.Func[reconcile.Request](func(ctx context.Context,
					request reconcile.Request) (reconcile.Result, error) {
					o := newConfigMap("", "")
					err := c.Get(ctx, request.NamespacedName, o)
					attempts <- o.Annotations["by"]
					return reconcile.Result{}, errors.Join(errBroken, err)
				})))
	})
	<-written
	if err := f.client.Patch(f.ctx, newConfigMap(f.namespace, "a"), annotate("a user")); err != nil {
		f.Fatal(err)
	}
	if second := <-attempts; second != "a user" {
		f.Errorf("the second attempt is at the change by %q", second)
	}
	f.create(secret(f.namespace, "b"))
	if third := <-attempts; third != "the controller before it" {
		f.Errorf("the third attempt is at the change by %q", third)
	}
}

func annotate(by string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"by":%q}}}`, by))
}
