package kubectl

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// List calls visit with all selected objects, page by page.
func (c *Client) List(ctx context.Context, s Selection, visit func(*unstructured.Unstructured)) error {
	resources, err := c.resolve(ctx, s)
	if err != nil {
		return err
	}
	for _, resource := range resources {
		if err := c.list(ctx, resource, s, visit); err != nil {
			return err
		}
	}
	return nil
}

// list calls visit with all selected objects of one resource.
func (c *Client) list(ctx context.Context, r Resource, s Selection, visit func(*unstructured.Unstructured)) error {
	q := query{client: c, resource: r, namespace: c.namespace(r, s), selection: s, accept: objectFormat}
	_, err := q.list(ctx, func(page *answer) error {
		for i := range page.Items {
			visit(&page.Items[i])
		}
		return nil
	})
	return err
}

// Attempt is a write that [Client.Try] tests. Only the server's response matters.
type Attempt struct {
	Object *unstructured.Unstructured
	// Before is the object that Object replaces. If it is nil, Object is created.
	Before *unstructured.Unstructured
	// Status writes Object to its subresource /status, if that exists.
	Status bool
}

// RefusedError is the error for an object that the server rejects, with the reason.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Try sends a write and returns the resulting object. It leaves no object on the server. An error other than
// [RefusedError] means that the write was not sent.
func (c *Client) Try(ctx context.Context, a Attempt) (*unstructured.Unstructured, error) {
	resource, err := c.resourceOf(ctx, a.Object.GroupVersionKind())
	if _, ok := errors.AsType[*noKindError](err); ok {
		return nil, &RefusedError{err.Error()}
	} else if err != nil {
		return nil, err
	}
	if resource.Namespaced != (a.Object.GetNamespace() != "") {
		return nil, &RefusedError{fmt.Sprintf("the scope of %s differs on the server", resource.plural())}
	}
	ref := reference{resource, a.Object.GetNamespace(), a.Object.GetName()}
	if a.Before == nil && !a.Status {
		return c.write(ctx, ref, a.Object, "", true)
	}
	first := a.Before
	if first == nil {
		first = a.Object.DeepCopy()
	}
	created, err := c.write(ctx, ref, first, "", false)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Ignore the error: if the object remains, the next attempt reports a name conflict.
		_ = c.rest.Delete().AbsPath(ref.path()).Do(context.WithoutCancel(ctx)).Error()
	}()
	next := a.Object.DeepCopy()
	next.SetResourceVersion(created.GetResourceVersion())
	path := ref.path()
	if a.Status {
		path += "/status"
	}
	updated, err := c.write(ctx, ref, next, path, true)
	if refused, ok := errors.AsType[*RefusedError](err); ok && a.Status && refused.Reason == notFound {
		return created, nil // without the subresource, the creation has already written the status
	}
	return updated, err
}

const notFound = "the server does not have the path"

// write creates an object, or replaces it at a path.
func (c *Client) write(ctx context.Context, ref reference, o *unstructured.Unstructured, path string,
	dryRun bool) (*unstructured.Unstructured, error) {
	body, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	request := c.rest.Post().AbsPath(ref.resource.path(ref.namespace))
	if path != "" {
		request = c.rest.Put().AbsPath(path)
	}
	if dryRun {
		request = request.Param("dryRun", "All")
	}
	after, err := askObject(ctx, request.Param("fieldValidation", "Ignore").SetHeader("Content-Type",
		"application/json").Body(body))
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return after, nil
	case apierrors.IsNotFound(err):
		return nil, &RefusedError{notFound}
	case errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500:
		return nil, &RefusedError{diagnostic.OneLine(err.Error())}
	}
	return nil, err
}
