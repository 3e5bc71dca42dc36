package controllerutil

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// OperationResult is the effect of a write on an object.
type OperationResult string

const (
	// OperationResultNone means that nothing changed.
	OperationResultNone OperationResult = "unchanged"
	// OperationResultCreated means that the object was created.
	OperationResultCreated OperationResult = "created"
	// OperationResultUpdated means that the object was changed, but not its status.
	OperationResultUpdated OperationResult = "updated"
	// OperationResultUpdatedStatus means that the object and its status were changed.
	OperationResultUpdatedStatus OperationResult = "updatedStatus"
	// OperationResultUpdatedStatusOnly means that only the status was changed.
	OperationResultUpdatedStatusOnly OperationResult = "updatedStatusOnly"
)

// MutateFn sets an object to its desired state. It must not change the name or the namespace, and it must be
// idempotent.
type MutateFn func() error

// CreateOrUpdate reads o with c, calls f to change it, and writes the change with Update. If the object does not exist,
// f changes o as the caller passed it, and CreateOrUpdate creates it. If f changes nothing, CreateOrUpdate sends no
// write. It never writes the status. It fails with a conflict (apierrors.IsConflict) if the object has changed since c
// read it.
//
// If f sets a whole struct in which the server sets defaults, each call removes the defaults and so sends an update.
// [ApplyIfDifferent] avoids this.
func CreateOrUpdate(ctx context.Context, c client.Client, o object.Object, f MutateFn) (OperationResult, error) {
	before, result, err := readOrCreate(ctx, c, o, f)
	if before == nil || err != nil {
		return result, err
	}
	if equality.Semantic.DeepEqual(before, o) {
		return OperationResultNone, nil
	}
	if err := c.Update(ctx, o); err != nil {
		return OperationResultNone, err
	}
	return OperationResultUpdated, nil
}

// CreateOrPatch is like [CreateOrUpdate], but writes with merge patches, so concurrent changes of other fields cause no
// conflict. It also writes the status of an existing object: if f changes the status, a second patch writes it to the
// status subresource, which the kind must have.
func CreateOrPatch(ctx context.Context, c client.Client, o object.Object, f MutateFn) (OperationResult, error) {
	before, result, err := readOrCreate(ctx, c, o, f)
	if before == nil || err != nil {
		return result, err
	}
	rest, status, err := splitPatch(before, o)
	if err != nil {
		return OperationResultNone, fmt.Errorf("patch %s: %w", object.KeyOf(o), err)
	}
	result = OperationResultNone
	if rest != nil {
		if err := c.Patch(ctx, o, rest); err != nil {
			return result, err
		}
		result = OperationResultUpdated
	}
	if status == nil {
		return result, nil
	}
	if err := c.Status().Patch(ctx, o, status); err != nil {
		return result, err
	}
	if result == OperationResultUpdated {
		return OperationResultUpdatedStatus, nil
	}
	return OperationResultUpdatedStatusOnly, nil
}

// readOrCreate reads o and calls f, or creates o. It returns the state before the call of f, or nil if it created o.
func readOrCreate(ctx context.Context, c client.Client, o object.Object,
	f MutateFn) (before object.Object, result OperationResult, err error) {
	key := object.KeyOf(o)
	if err := c.Get(ctx, key, o); apierrors.IsNotFound(err) {
		if err := mutate(f, key, o); err != nil {
			return nil, OperationResultNone, err
		}
		if err := c.Create(ctx, o); err != nil {
			return nil, OperationResultNone, err
		}
		return nil, OperationResultCreated, nil
	} else if err != nil {
		return nil, OperationResultNone, err
	}
	before = o.DeepCopyObject().(object.Object)
	return before, OperationResultNone, mutate(f, key, o)
}

func mutate(f MutateFn, key object.Key, o object.Object) error {
	if f == nil {
		return nil
	}
	if err := f(); err != nil {
		return err
	}
	if changed := object.KeyOf(o); changed != key {
		return fmt.Errorf("change %s: the function has made %s of it", key, changed)
	}
	return nil
}

// splitPatch returns the patches from before to after: one for the status and one for all other fields, each with the
// UID of before. A patch without changes is nil.
func splitPatch(before, after object.Object) (rest, status client.Patch, err error) {
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, nil, err
	}
	pin, err := json.Marshal(map[string]types.UID{"uid": before.GetUID()})
	if err != nil {
		return nil, nil, err
	}
	const statusField, metadataField = "status", "metadata"
	if changes, ok := fields[statusField]; ok {
		delete(fields, statusField)
		pinned := map[string]json.RawMessage{statusField: changes}
		if before.GetUID() != "" {
			pinned[metadataField] = pin
		}
		if status, err = mergePatch(pinned); err != nil {
			return nil, nil, err
		}
	}
	if bytes.Equal(fields[metadataField], pin) && len(fields) == 1 {
		return nil, status, nil
	}
	if len(fields) > 0 {
		rest, err = mergePatch(fields)
	}
	return rest, status, err
}

func mergePatch(fields map[string]json.RawMessage) (client.Patch, error) {
	data, err := json.Marshal(fields)
	return client.RawPatch(types.MergePatchType, data), err
}
