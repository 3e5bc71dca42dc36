package inmemory

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

const finalizer = "bench.example.com/hold"

// reconciler applies a ConfigMap for each Widget, counts in the Widget's status, and cleans up with a finalizer.
type reconciler struct{ client client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	w := &v1.Widget{}
	if err := r.client.Get(ctx, request.NamespacedName, w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if w.DeletionTimestamp != nil {
		err := r.client.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}})
		if client.IgnoreNotFound(err) != nil || !controllerutil.RemoveFinalizer(w, finalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.client.Update(ctx, w))
	}
	if controllerutil.AddFinalizer(w, finalizer) {
		return ctrl.Result{}, r.client.Update(ctx, w)
	}
	var same v1.WidgetList
	if err := r.client.List(ctx, &same, client.InNamespace(w.Namespace),
		client.MatchingFields{"spec.replicas": fmt.Sprint(w.Spec.Replicas)}); err != nil {
		return ctrl.Result{}, err
	}
	if len(same.Items) == 0 {
		return ctrl.Result{}, fmt.Errorf("the index does not have %s", w.Name)
	}
	owner := metav1ac.OwnerReference().WithAPIVersion(v1.GroupVersion.String()).WithKind("Widget").WithName(
		w.Name).WithUID(w.UID).WithController(true)
	configMap := corev1ac.ConfigMap(w.Name, w.Namespace).WithOwnerReferences(owner).WithData(
		map[string]string{"replicas": fmt.Sprint(w.Spec.Replicas)})
	if err := r.client.Apply(ctx, configMap, client.FieldOwner("reconciler"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	if w.Status.ObservedGeneration == w.Generation && w.Status.ReadyReplicas == w.Spec.Replicas {
		return ctrl.Result{}, nil
	}
	before := w.DeepCopy()
	w.Status.ObservedGeneration, w.Status.ReadyReplicas = w.Generation, w.Spec.Replicas
	return ctrl.Result{}, r.client.Status().Patch(ctx, w, client.MergeFrom(before))
}

// TestManagerReconciles runs a manager with leader election, a cache and an index while objects are created, changed
// and deleted.
func TestManagerReconciles(t *testing.T) {
	config, live := start(t)
	ctrl.SetLogger(logr.Discard())
	leases, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, unserved := leases.ServerResourcesForGroupVersion("coordination.k8s.io/v1")
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: live.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: unserved == nil, LeaderElectionID: "bench", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	byReplicas := func(object client.Object) []string { return []string{fmt.Sprint(object.(*v1.Widget).Spec.Replicas)} }
	if err := m.GetFieldIndexer().IndexField(t.Context(), &v1.Widget{}, "spec.replicas", byReplicas); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(m).For(&v1.Widget{}).Owns(&corev1.ConfigMap{}).Complete(
		&reconciler{m.GetClient()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	const count = 30
	for i := range count {
		if err := live.Create(ctx, newWidget(i)); err != nil {
			t.Fatal(err)
		}
	}
	var list v1.WidgetList
	reconciled := func() (bool, error) {
		if err := live.List(ctx, &list); err != nil {
			return false, err
		}
		for _, w := range list.Items {
			if w.Status.ObservedGeneration != w.Generation || w.Status.ReadyReplicas != w.Spec.Replicas ||
				len(w.Finalizers) == 0 {
				return false, fmt.Errorf("%s is not reconciled: %+v", w.Name, w.Status)
			}
		}
		return len(list.Items) == count, nil
	}
	eventually(t, "all are reconciled", reconciled)
	list.Items[0].Spec.Replicas = 42
	if err := live.Update(ctx, &list.Items[0]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a change is reconciled", reconciled)
	changed := &corev1.ConfigMap{}
	eventually(t, "an owned object is repaired", func() (bool, error) {
		err := live.Get(ctx, client.ObjectKeyFromObject(&list.Items[0]), changed)
		return changed.Data["replicas"] == "42", err
	})
	if err := live.Delete(ctx, changed); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted object is created again", func() (bool, error) {
		err := live.Get(ctx, client.ObjectKeyFromObject(changed), changed)
		return err == nil, err
	})
	if err := live.DeleteAllOf(ctx, &v1.Widget{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all objects are deleted", func() (bool, error) {
		var configMaps corev1.ConfigMapList
		if err := live.List(ctx, &list); err != nil || len(list.Items) > 0 {
			return false, err
		}
		err := live.List(ctx, &configMaps)
		return len(configMaps.Items) == 0, err
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
