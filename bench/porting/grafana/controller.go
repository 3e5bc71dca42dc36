package grafana

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

const (
	finalizer      = "grafana.porting.kctrl.test/finalizer"
	configMapField = ".spec.configMapRef.name"
	synchronized   = "Synchronized"
	noInstance     = "NoMatchingInstance"
)

// Reconciler writes dashboards to Grafana instances.
// +kubebuilder:object:generate=false
type Reconciler struct {
	client.Client
	HTTP *http.Client
}

// SetupWithManager adds the controller to m.
func (r *Reconciler) SetupWithManager(ctx context.Context, m controller.Manager) error {
	err := m.Cache().IndexField(ctx, &Dashboard{}, configMapField, func(o object.Object) []string {
		if ref := o.(*Dashboard).Spec.ConfigMapRef; ref != nil {
			return []string{ref.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Client = m.Client()
	return controller.For[*Dashboard](m).
		Watches(&Grafana{}, handler.Map(r.allDashboards())).
		Watches(&corev1.ConfigMap{}, handler.Map(r.dashboardsOf())).
		WithEventFilter(ignoreStatusUpdates()).
		WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond,
			120*time.Second)).
		Complete(r)
}

// ignoreStatusUpdates is one predicate for all kinds. ConfigMaps have no generation.
func ignoreStatusUpdates() predicate.Predicate {
	return func(e informer.Event[object.Object]) bool {
		return e.Type != informer.Updated || e.Object.GetGeneration() == 0 ||
			e.Old.GetGeneration() != e.Object.GetGeneration()
	}
}

func (r *Reconciler) allDashboards() handler.MapFunc {
	return func(ctx context.Context, o object.Object) []reconcile.Request {
		return r.requests(ctx, client.InNamespace(o.GetNamespace()))
	}
}

func (r *Reconciler) dashboardsOf() handler.MapFunc {
	return func(ctx context.Context, o object.Object) []reconcile.Request {
		return r.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{configMapField: o.GetName()})
	}
}

func (r *Reconciler) requests(ctx context.Context, opts ...client.ListOption) (requests []reconcile.Request) {
	var dashboards DashboardList
	if err := r.List(ctx, &dashboards, opts...); err != nil {
		log.FromContext(ctx).Error("cannot list dashboards", "err", err)
		return nil
	}
	for _, d := range dashboards.Items {
		requests = append(requests, reconcile.Request{NamespacedName: object.KeyOf(&d)})
	}
	return requests
}

// Reconcile writes a dashboard to the instances that it selects, and deletes it there when the object is deleted.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	dashboard := &Dashboard{}
	if err := r.Get(ctx, request.NamespacedName, dashboard); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !dashboard.GetDeletionTimestamp().IsZero() {
		return reconcile.Result{}, r.finalize(ctx, dashboard)
	}
	base := dashboard.DeepCopy()
	if controllerutil.AddFinalizer(dashboard, finalizer) {
		if err := r.Patch(ctx, dashboard, client.MergeFrom(base)); err != nil {
			return reconcile.Result{}, err
		}
		base = dashboard.DeepCopy()
	}
	err := r.synchronize(ctx, dashboard)
	if patchErr := r.Status().Patch(ctx, dashboard, client.MergeFrom(base)); patchErr != nil {
		err = errors.Join(err, patchErr)
	}
	return reconcile.Result{RequeueAfter: dashboard.Spec.ResyncPeriod.Duration}, err
}

func (r *Reconciler) synchronize(ctx context.Context, dashboard *Dashboard) error {
	instances, err := r.matching(ctx, dashboard)
	if err != nil {
		return err
	}
	if len(instances) == 0 {
		dashboard.Status.Instances = nil
		condition(dashboard, noInstance, metav1.ConditionTrue, "EmptyAPIReply", "no instance matches")
		meta.RemoveStatusCondition(&dashboard.Status.Conditions, synchronized)
		return nil
	}
	meta.RemoveStatusCondition(&dashboard.Status.Conditions, noInstance)
	model, hash, err := r.content(ctx, dashboard)
	if err != nil {
		condition(dashboard, synchronized, metav1.ConditionFalse, "InvalidContent", err.Error())
		return reconcile.TerminalError(err)
	}
	var errs []error
	dashboard.Status.Instances = nil
	for _, instance := range instances {
		if err := r.send(ctx, http.MethodPost, instance.Spec.URL+"/api/dashboards/db",
			map[string]any{"dashboard": model, "overwrite": true}); err != nil {
			errs = append(errs, fmt.Errorf("instance %s: %w", instance.Name, err))
			continue
		}
		dashboard.Status.Instances = append(dashboard.Status.Instances, instance.Name)
	}
	slices.Sort(dashboard.Status.Instances)
	if err := errors.Join(errs...); err != nil {
		condition(dashboard, synchronized, metav1.ConditionFalse, "ApplyFailed", err.Error())
		return err
	}
	dashboard.Status.Hash = hash
	condition(dashboard, synchronized, metav1.ConditionTrue, "ApplySuccessful",
		fmt.Sprintf("written to %d instances", len(instances)))
	return nil
}

func condition(d *Dashboard, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&d.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: d.Generation,
	})
}

func (r *Reconciler) matching(ctx context.Context, dashboard *Dashboard) ([]Grafana, error) {
	selector, err := metav1.LabelSelectorAsSelector(&dashboard.Spec.InstanceSelector)
	if err != nil {
		return nil, reconcile.TerminalError(err)
	}
	var list GrafanaList
	err = r.List(ctx, &list, client.InNamespace(dashboard.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return list.Items, err
}

// content returns the dashboard for Grafana's API and its hash. The UID of the object is the default UID of the
// dashboard.
func (r *Reconciler) content(ctx context.Context, dashboard *Dashboard) (model map[string]any, hash string, err error) {
	text := dashboard.Spec.JSON
	if ref := dashboard.Spec.ConfigMapRef; ref != nil {
		var cm corev1.ConfigMap
		if err := r.Get(ctx, object.Key{Namespace: dashboard.Namespace, Name: ref.Name}, &cm); err != nil {
			return nil, "", err
		}
		text = cm.Data[ref.Key]
	}
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		return nil, "", fmt.Errorf("content: %w", err)
	}
	if model["uid"] == nil {
		model["uid"] = string(dashboard.UID)
	}
	sum := sha256.Sum256([]byte(text))
	return model, hex.EncodeToString(sum[:]), nil
}

// finalize deletes the dashboard from the instances that have it.
func (r *Reconciler) finalize(ctx context.Context, dashboard *Dashboard) error {
	if !controllerutil.ContainsFinalizer(dashboard, finalizer) {
		return nil
	}
	for _, name := range dashboard.Status.Instances {
		var instance Grafana
		err := r.Get(ctx, object.Key{Namespace: dashboard.Namespace, Name: name}, &instance)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil {
			continue // the instance was deleted, and its dashboards too
		}
		uid := string(dashboard.UID)
		if model, _, err := r.content(ctx, dashboard); err == nil {
			uid = fmt.Sprint(model["uid"])
		}
		if err := r.send(ctx, http.MethodDelete, instance.Spec.URL+"/api/dashboards/uid/"+uid, nil); err != nil {
			return err
		}
	}
	base := dashboard.DeepCopy()
	controllerutil.RemoveFinalizer(dashboard, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, dashboard, client.MergeFrom(base)))
}

func (r *Reconciler) send(ctx context.Context, method, url string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // only for the error
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s %s: %s %s", method, req.URL.Path, resp.Status, answer)
	}
	return nil
}
