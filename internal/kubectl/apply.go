package kubectl

import (
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

// The order in which kinds are applied. Deletion goes the other way.
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

// Apply makes the server hold what the manifests say, namespaces and CRDs first; what needs a CRD is applied when that
// is served. Fields that others own are taken over. It reports created, configured or unchanged, and goes on with the
// other objects after one that the server refuses.
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
	content, err := ask(ctx, c.rest.Patch(types.ApplyPatchType).AbsPath(ref.path()).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body))
	if err != nil {
		return err
	}
	after := &unstructured.Unstructured{}
	if err := after.UnmarshalJSON(content); err != nil {
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

// referenceTo names an object of a manifest. A namespaced one that names no namespace is in the default one.
func (c *Client) referenceTo(ctx context.Context, o *unstructured.Unstructured) (reference, error) {
	resource, err := c.resourceOf(ctx, o.GroupVersionKind())
	ref := reference{resource: resource, name: o.GetName()}
	if resource.Namespaced {
		ref.namespace = o.GetNamespace()
		if ref.namespace == "" {
			ref.namespace = c.Namespace
		}
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
				Hint:    "its conditions say why: kctrl env get crd " + crd.Object.GetName() + " -o yaml",
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

// failed says which manifest an operation failed for, and what to do when its kind is not there.
func failed(m Manifest, verb string, err error) error {
	d := &diagnostic.Error{Pos: m.Pos, Message: fmt.Sprintf("%s %s: %v", verb, Describe(m.Object), err), Cause: err}
	if inner, ok := errors.AsType[*diagnostic.Error](err); ok {
		d.Hint = inner.Hint
	}
	if _, ok := errors.AsType[*noKindError](err); ok {
		d.Hint = "apply its CRD first, such as with kctrl env apply -k config/crd"
	}
	return d
}
