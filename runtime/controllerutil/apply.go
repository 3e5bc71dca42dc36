package controllerutil

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ApplyIfDifferent applies o (server-side apply, see [client.Writer]) unless that would certainly change nothing: the
// object as the API server has it holds in each field what o says, and the field owner, who must be given by
// [client.FieldOwner], owns these fields and no others. o is set to the state of the object in either case, and is
// untouched on an error.
//
// The state is read live and compared in memory, so a call that changes nothing costs one read. Where it is not certain
// that nothing would change it applies: so it does, for instance, each time for quantities that the server writes in
// another way ("1000m" for "1"). The API server stores nothing then either, and the result is [OperationResultNone].
func ApplyIfDifferent(ctx context.Context, c client.Client, o object.Object, opts ...client.ApplyOption) (OperationResult, error) {
	result, err := applyIfDifferent(ctx, c, o, "", c.Apply, opts)
	if err != nil {
		return OperationResultNone, err
	}
	return result, nil
}

// ApplyStatusIfDifferent is [ApplyIfDifferent] for the status of o.
func ApplyStatusIfDifferent(ctx context.Context, c client.Client, o object.Object, opts ...client.ApplyOption) (OperationResult, error) {
	result, err := applyIfDifferent(ctx, c, o, "status", c.Status().Apply, opts)
	switch {
	case err != nil:
		return OperationResultNone, err
	case result == OperationResultUpdated:
		return OperationResultUpdatedStatusOnly, nil
	}
	return result, nil
}

type applyFunc func(context.Context, object.Object, ...client.ApplyOption) error

func applyIfDifferent(ctx context.Context, c client.Client, o object.Object, subresource string, apply applyFunc, opts []client.ApplyOption) (OperationResult, error) {
	options, err := client.ApplyOptionsOf(opts...)
	if err != nil {
		return "", err
	}
	if options.FieldOwner == "" || options.SubResourceBody != nil {
		return "", fmt.Errorf("apply %s: ApplyIfDifferent needs the option FieldOwner, and cannot send another body", object.KeyOf(o))
	}
	configuration, err := client.ConfigurationOf(o, c.Scheme(), subresource)
	if err != nil {
		return "", fmt.Errorf("apply %s: %w", object.KeyOf(o), err)
	}
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(configuration["apiVersion"].(string))
	live.SetKind(configuration["kind"].(string))
	err = c.Get(ctx, object.KeyOf(o), live, client.Live)
	switch {
	case apierrors.IsNotFound(err):
		return OperationResultCreated, apply(ctx, o, opts...)
	case err != nil:
		return "", err
	}
	if wouldChangeNothing(configuration, live, options.FieldOwner, subresource) {
		return OperationResultNone, become(o, live)
	}
	if err := apply(ctx, o, opts...); err != nil {
		return "", err
	}
	if o.GetResourceVersion() == live.GetResourceVersion() {
		return OperationResultNone, nil
	}
	return OperationResultUpdated, nil
}

// become sets o to live.
func become(o object.Object, live *unstructured.Unstructured) error {
	if u, ok := o.(*unstructured.Unstructured); ok {
		*u = *live
		return nil
	}
	fresh := reflect.New(reflect.TypeOf(o).Elem())
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, fresh.Interface()); err != nil {
		return errors.Join(fmt.Errorf("read %s", object.KeyOf(o)), err)
	}
	kind := fresh.Interface().(object.Object).GetObjectKind()
	kind.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	reflect.ValueOf(o).Elem().Set(fresh.Elem())
	return nil
}
