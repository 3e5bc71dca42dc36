package fakecontrollers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// namespaces deletes all objects in namespaces that are being deleted, and then finalizes the namespaces.
var namespaces = Controller{"namespace-controller", func(m *manager.Manager) error {
	config := rest.CopyConfig(m.Config())
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	config.QPS = -1
	asks, err := rest.UnversionedRESTClientForConfigAndClient(config, m.HTTPClient())
	if err != nil {
		return err
	}
	p := &namespaceController{m.Client(), m.Live(), asks}
	return controller.For[*corev1.Namespace](m).Named("namespace-controller").Complete(byName[corev1.Namespace](m.Client(),
		p.reconcile))
}}

type namespaceController struct {
	client.Client
	live client.Client
	asks rest.Interface // for discovery
}

func (p *namespaceController) reconcile(ctx context.Context, namespace *corev1.Namespace) (reconcile.Result, error) {
	held := slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
	if namespace.DeletionTimestamp == nil || !held {
		return reconcile.Result{}, nil
	}
	kinds, err := p.kinds(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	pods := func(kind namespaced) bool { return kind.kind.Group == "" && kind.resource == "pods" }
	if at := slices.IndexFunc(kinds, pods); at > 0 { // delete pods before objects that they may use
		kinds[0], kinds[at] = kinds[at], kinds[0]
	}
	var left remains
	for _, kind := range kinds {
		if err := p.empty(ctx, namespace.Name, kind, &left); err != nil {
			return reconcile.Result{}, err
		}
		if pods(kind) && left.objects > 0 {
			break
		}
	}
	before := namespace.DeepCopy()
	left.judge(namespace)
	if err := writeStatus(ctx, p.Client, before, namespace); err != nil {
		return reconcile.Result{}, err
	}
	if left.objects > 0 { // finalizers block the deletion, and their removal causes no event
		since := time.Since(namespace.DeletionTimestamp.Time)
		return reconcile.Result{RequeueAfter: min(max(since/2, 50*time.Millisecond), 15*time.Second)}, nil
	}
	namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers,
		func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	err = p.SubResource("finalize").Update(ctx, namespace)
	if apierrors.IsConflict(err) {
		return reconcile.Result{}, nil // the conflicting change triggers the next reconcile
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// namespaced is a namespaced kind.
type namespaced struct {
	kind     schema.GroupVersionKind
	resource string
	atOnce   bool // the kind supports deletecollection
}

// kinds returns all kinds whose objects can be listed and deleted, in the server's preferred version.
func (p *namespaceController) kinds(ctx context.Context) (all []namespaced, err error) {
	for _, root := range []string{"/api", "/apis"} {
		content, err := p.asks.Get().AbsPath(root).SetHeader("Accept",
			"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask for %s: %w", root, err)
		}
		var groups apidiscovery.APIGroupDiscoveryList
		if err := json.Unmarshal(content, &groups); err != nil {
			return nil, fmt.Errorf("read %s: %w", root, err)
		}
		for _, group := range groups.Items {
			all = append(all, kindsOf(group)...)
		}
	}
	return all, nil
}

func kindsOf(group apidiscovery.APIGroupDiscovery) (all []namespaced) {
	seen := map[string]bool{}
	for _, version := range group.Versions {
		for _, r := range version.Resources {
			if r.Scope != apidiscovery.ScopeNamespace || seen[r.Resource] || r.ResponseKind == nil ||
				!slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			seen[r.Resource] = true
			kind := schema.GroupVersionKind{Group: group.Name, Version: version.Version, Kind: r.ResponseKind.Kind}
			all = append(all, namespaced{kind, r.Resource, slices.Contains(r.Verbs, "deletecollection")})
		}
	}
	return all
}

// empty deletes the objects of a kind in a namespace, and records the remaining ones.
func (p *namespaceController) empty(ctx context.Context, namespace string, kind namespaced, left *remains) error {
	has, err := p.list(ctx, namespace, kind)
	if err != nil || len(has) == 0 {
		return err
	}
	in, background := client.InNamespace(namespace), client.PropagationPolicy(metav1.DeletePropagationBackground)
	if kind.atOnce {
		all := &metav1.PartialObjectMetadata{}
		all.SetGroupVersionKind(kind.kind)
		err = client.IgnoreNotFound(p.live.DeleteAllOf(ctx, all, in, background))
	} else {
		err = each(has, func(o metav1.PartialObjectMetadata) error {
			o.SetGroupVersionKind(kind.kind)
			return client.IgnoreNotFound(p.live.Delete(ctx, &o, background))
		})
	}
	if err != nil {
		return err
	}
	has, err = p.list(ctx, namespace, kind)
	left.note(kind, has)
	return err
}

// list returns the metadata of the objects of a kind in a namespace. If the kind no longer exists, the list is empty.
func (p *namespaceController) list(ctx context.Context, namespace string,
	kind namespaced) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.kind.GroupVersion().WithKind(kind.kind.Kind + "List"))
	err := p.live.List(ctx, list, client.InNamespace(namespace))
	return list.Items, client.IgnoreNotFound(err)
}

// remains describes the objects that remain after the deletion.
type remains struct {
	objects    int
	resources  []string // in the form that the condition has
	finalizers map[string]int
}

func (r *remains) note(kind namespaced, objects []metav1.PartialObjectMetadata) {
	if len(objects) == 0 {
		return
	}
	r.objects += len(objects)
	r.resources = append(r.resources, fmt.Sprintf("%s.%s has %d resource instances", kind.resource, kind.kind.Group,
		len(objects)))
	if r.finalizers == nil {
		r.finalizers = map[string]int{}
	}
	for i := range objects {
		for _, finalizer := range objects[i].Finalizers {
			r.finalizers[finalizer]++
		}
	}
}

// judge sets the conditions that report why a namespace still exists.
func (r *remains) judge(namespace *corev1.Namespace) {
	slices.Sort(r.resources)
	var finalizers []string
	for name, n := range r.finalizers {
		finalizers = append(finalizers, fmt.Sprintf("%s in %d resource instances", name, n))
	}
	slices.Sort(finalizers)
	set := func(kind corev1.NamespaceConditionType, is bool, reason, message, otherwise, fine string) {
		status := corev1.ConditionTrue
		if !is {
			status, reason, message = corev1.ConditionFalse, otherwise, fine
		}
		setNamespaceCondition(namespace, corev1.NamespaceCondition{Type: kind, Status: status, Reason: reason,
			Message: message})
	}
	set(corev1.NamespaceDeletionDiscoveryFailure, false, "", "", "ResourcesDiscovered",
		"All resources successfully discovered")
	set("NamespaceDeletionGroupVersionParsingFailure", false, "", "", "ParsedGroupVersions",
		"All legacy kube types successfully parsed")
	set(corev1.NamespaceDeletionContentFailure, false, "", "", "ContentDeleted",
		"All content successfully deleted, may be waiting on finalization")
	set(corev1.NamespaceContentRemaining, r.objects > 0, "SomeResourcesRemain",
		"Some resources are remaining: "+strings.Join(r.resources, ", "), "ContentRemoved",
		"All content successfully removed")
	set(corev1.NamespaceFinalizersRemaining, len(finalizers) > 0, "SomeFinalizersRemain",
		"Some content in the namespace has finalizers remaining: "+strings.Join(finalizers, ", "),
		"ContentHasNoFinalizers", "All content-preserving finalizers finished")
}

func setNamespaceCondition(namespace *corev1.Namespace, fresh corev1.NamespaceCondition) {
	fresh.LastTransitionTime = metav1.Now()
	i := slices.IndexFunc(namespace.Status.Conditions,
		func(c corev1.NamespaceCondition) bool { return c.Type == fresh.Type })
	switch {
	case i < 0:
		namespace.Status.Conditions = append(namespace.Status.Conditions, fresh)
	case namespace.Status.Conditions[i].Status != fresh.Status || namespace.Status.Conditions[i].Message != fresh.Message:
		namespace.Status.Conditions[i] = fresh
	}
}
