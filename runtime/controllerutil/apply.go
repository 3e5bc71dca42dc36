package controllerutil

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
// that nothing would change it applies: so it does, for instance, each time for values that the server writes in another
// way (the quantity "1000m" of an unstructured object, which becomes "1"). The API server stores nothing then either, and
// the result is [OperationResultNone]. An [Applier] leaves out these too.
func ApplyIfDifferent(ctx context.Context, c client.Client, o object.Object, opts ...client.ApplyOption) (OperationResult, error) {
	return application{c: c, apply: c.Apply}.do(ctx, o, opts)
}

// ApplyStatusIfDifferent is [ApplyIfDifferent] for the status of o.
func ApplyStatusIfDifferent(ctx context.Context, c client.Client, o object.Object, opts ...client.ApplyOption) (OperationResult, error) {
	return statusOnly(application{c: c, subresource: "status", apply: c.Status().Apply}.do(ctx, o, opts))
}

func statusOnly(result OperationResult, err error) (OperationResult, error) {
	if result == OperationResultUpdated {
		result = OperationResultUpdatedStatusOnly
	}
	return result, err
}

// application is how an object is applied.
type application struct {
	c           client.Client
	subresource string
	apply       func(context.Context, object.Object, ...client.ApplyOption) error
	memory      *memory // nil remembers nothing
}

// do applies o unless that would change nothing.
func (a application) do(ctx context.Context, o object.Object, opts []client.ApplyOption) (OperationResult, error) {
	options, err := client.ApplyOptionsOf(opts...)
	if err != nil {
		return OperationResultNone, err
	}
	if options.FieldOwner == "" || options.SubResourceBody != nil {
		return OperationResultNone, fmt.Errorf("apply %s: ApplyIfDifferent needs the option FieldOwner, and cannot send another body", object.KeyOf(o))
	}
	configuration, err := client.ConfigurationOf(o, a.c.Scheme(), a.subresource)
	if err != nil {
		return OperationResultNone, fmt.Errorf("apply %s: %w", object.KeyOf(o), err)
	}
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(configuration["apiVersion"].(string))
	live.SetKind(configuration["kind"].(string))
	err = a.c.Get(ctx, object.KeyOf(o), live, client.Live)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return OperationResultNone, err
	}
	wanted := desired{configuration, options.FieldOwner, a.subresource}
	if exists && (wanted.isIn(live) || a.memory.has(wanted, live)) {
		return OperationResultNone, become(o, live)
	}
	applied := &unstructured.Unstructured{Object: maps.Clone(configuration)}
	if err := a.apply(ctx, applied, opts...); err != nil {
		return OperationResultNone, err
	}
	a.memory.note(wanted, applied)
	switch err := become(o, applied); {
	case err != nil:
		return OperationResultNone, err
	case !exists:
		return OperationResultCreated, nil
	case applied.GetResourceVersion() == live.GetResourceVersion():
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
