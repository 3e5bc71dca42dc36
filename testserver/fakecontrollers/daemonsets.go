package fakecontrollers

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// daemonSets maintains one pod of each DaemonSet on each node that the DaemonSet selects.
var daemonSets = Controller{"daemonset-controller", func(m *manager.Manager) error {
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	revisions, err := newOwned(m, &appsv1.ControllerRevision{})
	if err != nil {
		return err
	}
	p := &daemonSetController{m.Client(), pods, revisions}
	return controller.For[*appsv1.DaemonSet](m).Named("daemonset-controller").Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, adopters(m.Client(), func() object.List { return &appsv1.DaemonSetList{} })).
		Watches(handler.For(p.onNodes)).
		Complete(byName[appsv1.DaemonSet](m.Client(), p.reconcile))
}}

type daemonSetController struct {
	client.Client
	pods      *owned[*corev1.Pod]
	revisions *owned[*appsv1.ControllerRevision]
}

// onNodes returns requests for all DaemonSets, because each of them may select the changed node.
func (p *daemonSetController) onNodes(ctx context.Context, _ *corev1.Node) (requests []reconcile.Request) {
	var all appsv1.DaemonSetList
	if err := p.List(ctx, &all); err != nil {
		return nil
	}
	for i := range all.Items {
		requests = append(requests, requestFor(&all.Items[i]))
	}
	return requests
}

// daemons is one reconcile of a DaemonSet.
type daemons struct {
	*daemonSetController
	*appsv1.DaemonSet
	hash   string // hash of the current template
	nodes  []corev1.Node
	byNode map[string][]*corev1.Pod
}

func (p *daemonSetController) reconcile(ctx context.Context, set *appsv1.DaemonSet) (reconcile.Result, error) {
	all, err := p.pods.claim(ctx, set, set.Spec.Selector, isActive)
	if err != nil {
		return reconcile.Result{}, err
	}
	var nodes corev1.NodeList
	if err := p.List(ctx, &nodes); err != nil || set.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	known, hash, err := p.syncHistory(ctx, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	slices.SortFunc(nodes.Items, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	d := &daemons{p, set, hash, nodes.Items, map[string][]*corev1.Pod{}}
	for _, pod := range all {
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil {
			d.byNode[node] = append(d.byNode[node], pod)
		}
	}
	if err := unlessTerminating(d.step(ctx)); err != nil {
		return reconcile.Result{}, err
	}
	before := set.DeepCopy()
	d.judge()
	if err := writeStatus(ctx, p.Client, before, set); err != nil {
		return reconcile.Result{}, err
	}
	err = known.forget(ctx, p.Client, set.Spec.RevisionHistoryLimit, func(r *appsv1.ControllerRevision) bool {
		used := r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		return used == hash ||
			slices.ContainsFunc(all,
				func(pod *corev1.Pod) bool { return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == used })
	})
	return reconcile.Result{RequeueAfter: untilAvailable(set.Spec.MinReadySeconds, all)}, err
}

// syncHistory records the current template, and returns the hash that identifies its pods.
func (p *daemonSetController) syncHistory(ctx context.Context,
	set *appsv1.DaemonSet) (known history, hash string, err error) {
	if known, err = p.revisions.by(ctx, set.Namespace, set.UID); err != nil {
		return nil, "", err
	}
	data, err := revisionData(&set.Spec.Template)
	if err != nil {
		return nil, "", err
	}
	hash = templateHash(&set.Spec.Template, set.Status.CollisionCount)
	known, err = known.sync(ctx, p.Client, set, data, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name:   set.Name + "-" + hash,
		Labels: labels.Merge(set.Spec.Template.Labels, labels.Set{appsv1.DefaultDaemonSetUniqueLabelKey: hash}),
	}})
	if err != nil {
		return nil, "", err
	}
	return known, known[len(known)-1].Labels[appsv1.DefaultDaemonSetUniqueLabelKey], nil
}

// shouldRun reports whether a node should have a pod. stays reports whether an existing pod on the node may stay.
func (d *daemons) shouldRun(node *corev1.Node) (shouldRun, stays bool) {
	spec := d.Spec.Template.Spec.DeepCopy()
	daemonutil.AddOrUpdateDaemonPodTolerations(spec) // daemons stay on unhealthy nodes
	if !fits(spec, node) {
		return false, false
	}
	return tolerates(spec, node, corev1.TaintEffectNoSchedule), tolerates(spec, node)
}

// step creates missing pods, and deletes pods that have ended or should not run on their node. It also deletes pods
// with an old template, as many as may be unavailable.
func (d *daemons) step(ctx context.Context) error {
	spare := d.mayBeMissing() - d.missing()
	onDelete := d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	for i := range d.nodes {
		node := &d.nodes[i]
		shouldRun, stays := d.shouldRun(node)
		pods := slices.DeleteFunc(slices.Clone(d.byNode[node.Name]),
			func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		switch {
		case len(d.byNode[node.Name]) == 0 && shouldRun:
			if err := d.create(ctx, node.Name); err != nil {
				return err
			}
		case !stays:
			err := each(pods, func(pod *corev1.Pod) error { return controllerutil.DeleteWithUID(ctx, d.Client, pod) })
			if err != nil {
				return err
			}
		}
		for n, pod := range pods {
			old := !onDelete && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != d.hash
			wasMissing := !isAvailable(pod, d.Spec.MinReadySeconds)
			if !stays || n == 0 && !podutil.IsPodTerminal(pod) && (!old || !wasMissing && spare <= 0) {
				continue
			}
			if err := controllerutil.DeleteWithUID(ctx, d.Client, pod); err != nil {
				return err
			}
			if !wasMissing {
				spare--
			}
		}
	}
	return nil
}

func (d *daemons) create(ctx context.Context, node string) error {
	generation, err := daemonutil.GetTemplateGeneration(d.DaemonSet)
	if err != nil {
		generation = nil // the annotation is not a number
	}
	template := daemonutil.CreatePodTemplate(d.Spec.Template, generation, d.hash)
	pod := podOf(&template)
	pod.Namespace, pod.GenerateName = d.Namespace, d.Name+"-"
	pod.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(pod.Spec.Affinity, node)
	return createOwned(ctx, d.Client, d.DaemonSet, pod)
}

// mayBeMissing returns the number of nodes that may be without a pod during an update. It includes maxSurge, because
// this controller always deletes the old pod first.
func (d *daemons) mayBeMissing() int {
	rolling, wanted := d.Spec.UpdateStrategy.RollingUpdate, int32(0)
	for i := range d.nodes {
		shouldRun, _ := d.shouldRun(&d.nodes[i])
		wanted += one(shouldRun)
	}
	if rolling == nil {
		return 1
	}
	return int(max(1, scaled(rolling.MaxUnavailable, wanted, true), scaled(rolling.MaxSurge, wanted, true)))
}

// missing returns the number of nodes that should have an available pod, but have none.
func (d *daemons) missing() (n int) {
	for i := range d.nodes {
		available := slices.ContainsFunc(d.byNode[d.nodes[i].Name], func(pod *corev1.Pod) bool {
			return pod.DeletionTimestamp == nil && isAvailable(pod, d.Spec.MinReadySeconds)
		})
		if shouldRun, _ := d.shouldRun(&d.nodes[i]); shouldRun && !available {
			n++
		}
	}
	return n
}

func (d *daemons) judge() {
	was := d.Status
	d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, CollisionCount: was.CollisionCount,
		Conditions: was.Conditions}
	for i := range d.nodes {
		shouldRun, _ := d.shouldRun(&d.nodes[i])
		pods := slices.DeleteFunc(slices.Clone(d.byNode[d.nodes[i].Name]), podutil.IsPodTerminal)
		d.Status.DesiredNumberScheduled += one(shouldRun)
		if len(pods) == 0 {
			continue
		}
		if !shouldRun {
			d.Status.NumberMisscheduled++
			continue
		}
		pod := slices.MinFunc(pods,
			func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		d.Status.CurrentNumberScheduled++
		d.Status.NumberReady += one(podutil.IsPodReady(pod))
		d.Status.NumberAvailable += one(isAvailable(pod, d.Spec.MinReadySeconds))
		d.Status.UpdatedNumberScheduled += one(pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.hash)
	}
	d.Status.NumberUnavailable = d.Status.DesiredNumberScheduled - d.Status.NumberAvailable
}
