package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

const (
	fieldOwner  = client.FieldOwner("kctrl")
	waitTimeout = time.Minute // for a CRD to be served, and for a deleted object to be gone
)

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Objects applies, deletes and reads objects on one API server.
type Objects struct {
	live *client.REST
	// Namespace is that of namespaced objects which name none.
	Namespace string
	// Report is told what became of each object, such as "created". Nil is nobody.
	Report func(o *unstructured.Unstructured, what string)
}

// Connect returns the objects of the server that a kubeconfig points at.
func Connect(kubeconfig string) (*Objects, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	return &Objects{live: live, Namespace: "default"}, err
}

func (s *Objects) report(o *unstructured.Unstructured, what string) {
	if s.Report != nil {
		s.Report(o, what)
	}
}

// Apply makes the server hold what the manifests say (server-side apply), namespaces and CRDs first; what needs a CRD
// is applied when that is served. It reports created, configured or unchanged.
func (s *Objects) Apply(ctx context.Context, manifests []Manifest) error {
	ordered := slices.Clone(manifests)
	slices.SortStableFunc(ordered, func(a, b Manifest) int { return rank(a.Object) - rank(b.Object) })
	var crds []*unstructured.Unstructured
	for _, m := range ordered {
		if rank(m.Object) == rankOther && crds != nil {
			if err := s.waitServed(ctx, crds); err != nil {
				return err
			}
			crds = nil
		}
		if err := s.apply(ctx, m.Object); err != nil {
			return failed(m, "apply", err)
		}
		if m.Object.GroupVersionKind().GroupKind() == crdKind {
			crds = append(crds, m.Object)
		}
	}
	return s.waitServed(ctx, crds)
}

// The order in which kinds are applied. Deletion goes the other way.
const (
	rankNamespace = iota
	rankCRD
	rankOther
)

func rank(o *unstructured.Unstructured) int {
	switch o.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		return rankNamespace
	case crdKind:
		return rankCRD
	}
	return rankOther
}

func (s *Objects) apply(ctx context.Context, o *unstructured.Unstructured) error {
	if err := s.setNamespace(o); err != nil {
		return err
	}
	before := empty(o)
	err := s.live.Get(ctx, client.ObjectKeyFromObject(o), before)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	found := err == nil
	if err := s.live.Apply(ctx, o, fieldOwner, client.ForceOwnership); err != nil {
		return err
	}
	switch {
	case !found:
		s.report(o, "created")
	case before.GetResourceVersion() == o.GetResourceVersion():
		s.report(o, "unchanged")
	default:
		s.report(o, "configured")
	}
	return nil
}

// setNamespace gives a namespaced object that names none the default one.
func (s *Objects) setNamespace(o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	mapping, err := s.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
		o.SetNamespace(s.Namespace)
	}
	return nil
}

func empty(o *unstructured.Unstructured) *unstructured.Unstructured {
	e := &unstructured.Unstructured{}
	e.SetGroupVersionKind(o.GroupVersionKind())
	return e
}

// waitServed blocks until every served version of the CRDs can be listed.
func (s *Objects) waitServed(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		for _, gvk := range servedKinds(crd) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
			last := error(nil)
			err := s.wait(ctx, func(ctx context.Context) bool {
				last = s.live.List(ctx, list, client.Limit(1))
				return last == nil
			})
			if err != nil {
				return fmt.Errorf("%s is not served: %w", gvk.GroupKind(), errors.Join(err, last))
			}
		}
	}
	return nil
}

func servedKinds(crd *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var kinds []schema.GroupVersionKind
	for _, v := range versions {
		version, ok := v.(map[string]any)
		name, isText := version["name"].(string)
		if served, _ := version["served"].(bool); ok && isText && served {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

// Delete deletes the objects of the manifests, in the opposite order of Apply, and waits until they are gone. It
// reports deleted or not found.
func (s *Objects) Delete(ctx context.Context, manifests []Manifest) error {
	ordered := slices.Clone(manifests)
	slices.SortStableFunc(ordered, func(a, b Manifest) int { return rank(b.Object) - rank(a.Object) })
	for _, m := range ordered {
		if err := s.delete(ctx, m.Object); err != nil {
			return failed(m, "delete", err)
		}
	}
	return nil
}

func (s *Objects) delete(ctx context.Context, o *unstructured.Unstructured) error {
	err := s.setNamespace(o)
	if err == nil {
		err = s.live.Delete(ctx, o)
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		s.report(o, "not found")
		return nil
	}
	if err != nil {
		return err
	}
	err = s.wait(ctx, func(ctx context.Context) bool {
		return apierrors.IsNotFound(s.live.Get(ctx, client.ObjectKeyFromObject(o), empty(o)))
	})
	if err != nil {
		return fmt.Errorf("it is not gone, its finalizers are %q: %w", o.GetFinalizers(), err)
	}
	s.report(o, "deleted")
	return nil
}

func (s *Objects) wait(ctx context.Context, done func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("waited %s", waitTimeout))
	defer cancel()
	return poll(ctx, 50*time.Millisecond, func() bool { return done(ctx) })
}

// failed says which manifest an operation failed for, and what to do when its kind is not there.
func failed(m Manifest, verb string, err error) error {
	d := &diagnostic.Error{Pos: m.Pos, Message: fmt.Sprintf("%s %s: %v", verb, Describe(m.Object), err), Cause: err}
	if meta.IsNoMatchError(err) {
		d.Hint = "apply its CRD first, such as with kctrl env apply -k config/crd"
	}
	return d
}

// Describe names an object as users know it, such as "guestbook.webapp.example.com/sample".
func Describe(o *unstructured.Unstructured) string {
	gk := o.GroupVersionKind().GroupKind()
	kind := strings.ToLower(gk.Kind)
	if gk.Group != "" {
		kind += "." + gk.Group
	}
	return kind + "/" + o.GetName()
}

// Find returns the objects of a resource, such as guestbooks or guestbooks.webapp.example.com: the named one, or all of
// the namespace. The empty namespace is all namespaces.
func (s *Objects) Find(ctx context.Context, resource, name, namespace string) ([]unstructured.Unstructured, error) {
	plural, group, _ := strings.Cut(strings.ToLower(resource), ".")
	gvk, err := s.live.RESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
	if meta.IsNoMatchError(err) {
		return nil, &diagnostic.Error{Message: fmt.Sprintf("the server has no resource %q", resource), Hint: "use the plural, such as guestbooks, and apply its CRD first", Cause: err}
	}
	if ambiguous, ok := errors.AsType[*meta.AmbiguousResourceError](err); ok {
		return nil, severalGroups(resource, plural, ambiguous)
	}
	if err != nil {
		return nil, err
	}
	mapping, err := s.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	if name != "" {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(gvk)
		o.SetName(name)
		o.SetNamespace(namespace)
		if err := s.setNamespace(o); err != nil {
			return nil, err
		}
		err := s.live.Get(ctx, client.ObjectKeyFromObject(o), o)
		return []unstructured.Unstructured{*o}, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := s.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// severalGroups says which groups a resource that was named without one can be of.
func severalGroups(resource, plural string, err *meta.AmbiguousResourceError) error {
	var names []string
	for _, gvk := range err.MatchingKinds {
		names = append(names, plural+"."+gvk.Group)
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("several API groups have a resource %q", resource),
		Hint:    "name one of them: " + strings.Join(names, ", "),
		Cause:   err,
	}
}
