package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Manifests are applied in the order of their ranks, and deleted in the reverse order.
const (
	rankNamespace = iota
	rankCRD
	rankOther
	ranks
)

func rank(m Manifest) int {
	switch m.Object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		return rankNamespace
	case crdKind:
		return rankCRD
	}
	return rankOther
}

func ofRank(manifests []Manifest, wanted int) []Manifest {
	return slices.DeleteFunc(slices.Clone(manifests), func(m Manifest) bool { return rank(m) != wanted })
}

// Apply applies the manifests: first namespaces, then CRDs, then all other objects. After each CRD, it waits until the
// server serves the kind. It takes over fields that have other owners. For each object, it reports created, configured
// or unchanged. If the server rejects an object, Apply continues with the next one and returns the error at the end.
func (c *Client) Apply(ctx context.Context, manifests []Manifest) error {
	var errs []error
	for r := range ranks {
		for _, m := range ofRank(manifests, r) {
			if err := c.apply(ctx, m.Object); ctx.Err() != nil {
				return err
			} else if err != nil {
				errs = append(errs, failed(m, "apply", err))
			} else if r == rankCRD {
				errs = append(errs, c.waitServed(ctx, m))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Client) apply(ctx context.Context, o *unstructured.Unstructured) error {
	ref, err := c.referenceTo(ctx, o)
	if err != nil {
		return err
	}
	before, err := c.object(ctx, ref)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	found := err == nil
	o = o.DeepCopy()
	o.SetNamespace(ref.namespace)
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	after, err := askObject(ctx, c.rest.Patch(types.ApplyPatchType).AbsPath(ref.path()).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body))
	if err != nil {
		return err
	}
	switch {
	case !found:
		c.report(ref.String(), "created")
	case before.GetResourceVersion() == after.GetResourceVersion():
		c.report(ref.String(), "unchanged")
	default:
		c.report(ref.String(), "configured")
	}
	return nil
}

// referenceTo returns a reference to the object of a manifest. The namespace of a namespaced object defaults to the
// namespace of the client.
func (c *Client) referenceTo(ctx context.Context, o *unstructured.Unstructured) (reference, error) {
	resource, err := c.resourceOf(ctx, o.GroupVersionKind())
	ref := reference{resource: resource, name: o.GetName()}
	if resource.Namespaced {
		ref.namespace = cmp.Or(o.GetNamespace(), c.Namespace)
	}
	return ref, err
}

// waitServed blocks until every served version of a CRD can be listed.
func (c *Client) waitServed(ctx context.Context, crd Manifest) error {
	for _, kind := range servedKinds(crd.Object) {
		var last error
		err := c.wait(ctx, func(ctx context.Context) (bool, error) {
			var resource Resource
			if resource, last = c.resourceOf(ctx, kind); last == nil {
				last = c.rest.Get().AbsPath(resource.path("")).Param("limit", "1").Do(ctx).Error()
			}
			return last == nil, nil
		})
		if err != nil {
			return &diagnostic.Error{
				Pos:     crd.Pos,
				Message: fmt.Sprintf("%s is not served: %v: %v", kind.GroupKind(), err, last),
				Hint:    "look at its conditions: kctrl env get crd " + crd.Object.GetName() + " -o yaml",
				Cause:   err,
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

// failed returns the error of an operation on a manifest. If the server does not serve the kind, the error has a hint.
func failed(m Manifest, verb string, err error) error {
	d := wrapKeepingHint(verb+" "+Describe(m.Object), err)
	d.Pos = m.Pos
	if _, ok := errors.AsType[*noKindError](err); ok {
		d.Hint = "apply its CRD first, for example with kctrl env apply -k config/crd"
	}
	return d
}
