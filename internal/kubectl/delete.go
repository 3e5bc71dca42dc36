package kubectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// DeleteOptions are the options of a deletion. The zero value waits until the objects are gone.
type DeleteOptions struct {
	// NoWait makes the deletion return as soon as the server has accepted it.
	NoWait bool
	// IgnoreNotFound ignores named objects that do not exist.
	IgnoreNotFound bool
}

// DeleteManifests deletes the objects of the manifests in the reverse order of Apply, and waits until they are gone. It
// reports "deleted" or "not found" for each object.
func (c *Client) DeleteManifests(ctx context.Context, manifests []Manifest, o DeleteOptions) error {
	var errs []error
	for r := range ranks {
		var leaving []reference
		var from []Manifest
		for _, m := range ofRank(manifests, ranks-1-r) {
			ref, err := c.referenceTo(ctx, m.Object)
			if err == nil {
				err = c.delete(ctx, ref)
			}
			switch _, noKind := errors.AsType[*noKindError](err); {
			case err == nil:
				leaving, from = append(leaving, ref), append(from, m)
			case noKind || apierrors.IsNotFound(err):
				c.report(Describe(m.Object), "not found")
			default:
				errs = append(errs, failed(m, "delete", err))
			}
		}
		for i, ref := range leaving {
			if err := c.finish(ctx, ref, o); err != nil {
				errs = append(errs, failed(from[i], "delete", err))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Delete deletes the selected objects and waits until they are gone. It reports "deleted" for each object. By default,
// a missing named object is an error.
func (c *Client) Delete(ctx context.Context, s Selection, o DeleteOptions) error {
	references, err := c.selected(ctx, s)
	if err != nil {
		return err
	}
	var leaving []reference
	var errs []error
	for _, ref := range references {
		err := c.delete(ctx, ref)
		switch missing := apierrors.IsNotFound(err); {
		case err == nil:
			leaving = append(leaving, ref)
		case missing && len(s.Names) == 0: // another client has deleted the object
		case missing && o.IgnoreNotFound:
			c.report(ref.String(), "not found")
		default:
			errs = append(errs, err)
		}
	}
	for _, ref := range leaving {
		if err := c.finish(ctx, ref, o); err != nil {
			errs = append(errs, wrapKeepingHint("delete "+ref.String(), err))
		}
	}
	return errors.Join(errs...)
}

func wrapKeepingHint(what string, err error) *diagnostic.Error {
	d := &diagnostic.Error{Message: fmt.Sprintf("%s: %v", what, err), Cause: err}
	if inner, ok := errors.AsType[*diagnostic.Error](err); ok {
		d.Hint = inner.Hint
	}
	return d
}

func (c *Client) delete(ctx context.Context, ref reference) error {
	return c.rest.Delete().AbsPath(ref.path()).Param("propagationPolicy",
		string(metav1.DeletePropagationBackground)).Do(ctx).Error()
}

// finish waits until a deleted object is gone. Whenever the reason for the delay changes, it reports the reason.
func (c *Client) finish(ctx context.Context, ref reference, o DeleteOptions) error {
	if o.NoWait {
		c.report(ref.String(), "is being deleted")
		return nil
	}
	var held hold
	err := c.wait(ctx, func(ctx context.Context) (bool, error) {
		found, err := c.object(ctx, ref)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if found.GetDeletionTimestamp() == nil {
			return true, nil // it is a new object with the same name
		}
		if now := holdOf(found); now != held {
			held = now
			c.notice(fmt.Sprintf("waiting for %s: %s", ref, held.why))
		}
		return false, nil
	})
	if timedOut(err) {
		return diagnostic.Because(err, fmt.Sprintf("%v, and it still exists: %s", err, held.why), held.hint)
	}
	if err != nil {
		return err
	}
	c.report(ref.String(), "deleted")
	return nil
}

// hold is the reason why an object still exists after its deletion, and a hint.
type hold struct{ why, hint string }

func holdOf(o *unstructured.Unstructured) hold {
	if finalizers := o.GetFinalizers(); len(finalizers) > 0 {
		why := "finalizer " + strings.Join(finalizers, ", finalizer ")
		if slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
			return hold{why, "kube-controller-manager deletes dependents: kctrl env up --controller-manager runs it"}
		}
		return hold{why,
			`run the operator that removes it, or remove it by hand: kubectl patch --type=merge -p '{"metadata":{"finalizers":null}}'`}
	}
	if finalizers, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "finalizers"); len(finalizers) > 0 {
		return hold{"namespace finalizer " + strings.Join(finalizers, ", "),
			"kube-controller-manager empties namespaces: kctrl env up --controller-manager runs it"}
	}
	if seconds := o.GetDeletionGracePeriodSeconds(); seconds != nil && *seconds > 0 {
		return hold{fmt.Sprintf("it has %d s to terminate", *seconds),
			"an environment has no kubelet to terminate it: kubectl delete --force"}
	}
	return hold{"the server reports no reason", "look at it with -o yaml"}
}
