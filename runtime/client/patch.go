package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Patch is a change to an object, as one request sends it.
type Patch interface {
	// Type is the content type of the patch.
	Type() types.PatchType
	// Data is the body of the patch, given the object that is passed to Patch.
	Data(obj object.Object) ([]byte, error)
}

// RawPatch is a patch whose body is there already.
func RawPatch(patchType types.PatchType, data []byte) Patch {
	return &patch{patchType: patchType, data: data}
}

// Merge is the JSON merge patch that is the object itself, as it is passed to Patch: all that it says, with its resourceVersion if it has
// one, and nothing that it leaves out. [MergeFrom] is the one that says what has changed.
var Merge Patch = wholePatch{}

// MergeFrom is the JSON merge patch from base, a copy taken before the changes, to the object that is passed to Patch.
// It names only the fields that differ; a list that differs is sent whole. The resourceVersion is never part of it, so
// the last writer wins. base must not be modified until Patch has returned. An object that a cache has in parts is compared
// with a copy of itself; with a base that has other fields it is a [*MaskedError].
//
// A patch that changes something has the UID of base if there is one, so that it does not land on an object that was deleted and
// made anew: that is a conflict, as of an Update. The server does not look at the UID in a patch of the status of a custom
// resource: where such a status must not go to a successor, take [MergeFromWithOptimisticLock].
func MergeFrom(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.MergePatchType, base: base}
}

// MergeFromWithOptimisticLock is [MergeFrom] with the resourceVersion of base, so that the patch fails with a conflict
// when the object has changed since. base must have one.
func MergeFromWithOptimisticLock(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.MergePatchType, base: base, lock: true}
}

// Mocks name these types as strings, such as AnythingOfType("*client.mergeFromPatch"). Their names must not change.

type patch struct {
	patchType types.PatchType
	data      []byte
}

func (p *patch) Type() types.PatchType { return p.patchType }

func (p *patch) Data(object.Object) ([]byte, error) { return p.data, nil }

type wholePatch struct{}

func (wholePatch) Type() types.PatchType { return types.MergePatchType }

func (wholePatch) Data(obj object.Object) ([]byte, error) {
	fields, err := configuration.Map(obj)
	if err != nil {
		return nil, err
	}
	if object.Mask(obj) != nil { // the mark is no field of it
		dropManagedFields(fields)
	}
	return json.Marshal(fields)
}

// mergeFromPatch is a merge patch, or a strategic one.
type mergeFromPatch struct {
	patchType types.PatchType
	base      object.Object
	lock      bool
}

func (p *mergeFromPatch) Type() types.PatchType { return p.patchType }

func (p *mergeFromPatch) Data(obj object.Object) ([]byte, error) {
	strategic := p.patchType == types.StrategicMergePatchType
	if _, ok := obj.(runtime.Unstructured); ok && strategic {
		return nil, fmt.Errorf("strategic merge patch to %T: the object must be typed", obj)
	}
	base, modified, err := toMaps(p.base, obj)
	if err != nil {
		return nil, err
	}
	if strategic {
		return finishPatch(strategicMaps(reflect.TypeOf(obj), base, modified), p.base, p.lock)
	}
	return finishPatch(mergeDiff(base, modified), p.base, p.lock)
}

// toMaps returns two objects of one type as decoded JSON.
func toMaps(base, obj object.Object) (before, after map[string]any, err error) {
	if reflect.TypeOf(base) != reflect.TypeOf(obj) {
		return nil, nil, fmt.Errorf("merge patch from %T to %T: the types differ", base, obj)
	}
	if mask := object.Mask(obj); mask != nil && !slices.Equal(mask, object.Mask(base)) {
		return nil, nil, &MaskedError{What: "merge patch from another form of it", Mask: mask}
	}
	if before, err = configuration.Map(base); err != nil {
		return nil, nil, err
	}
	if after, err = configuration.Map(obj); err != nil {
		return nil, nil, err
	}
	if object.Mask(base) != nil || object.Mask(obj) != nil { // the mark is no change
		dropManagedFields(before)
		dropManagedFields(after)
	}
	return before, after, nil
}

func dropManagedFields(fields map[string]any) {
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
}

// finishPatch encodes a patch without what is no change. One that changes something, or locks, has the UID of base if there is one;
// and the resourceVersion of base if lock is set.
func finishPatch(patch map[string]any, base object.Object, lock bool) ([]byte, error) {
	delete(patch, "apiVersion")
	delete(patch, "kind")
	pinned := map[string]any{}
	if uid := base.GetUID(); uid != "" {
		pinned["uid"] = uid
	}
	if lock {
		if base.GetResourceVersion() == "" {
			return nil, errors.New("merge patch with optimistic lock: the base has no resourceVersion")
		}
		pinned["resourceVersion"] = base.GetResourceVersion()
	}
	metadata, changed := patch["metadata"].(map[string]any)
	if changed {
		delete(metadata, "resourceVersion")
		delete(metadata, "uid")
		if len(metadata) == 0 {
			delete(patch, "metadata")
		}
	}
	if len(pinned) > 0 && (len(patch) > 0 || lock) {
		maps.Copy(pinned, metadata)
		patch["metadata"] = pinned
	}
	return json.Marshal(patch)
}

// ofAnother makes a conflict of what the server says of a patch whose UID is that of another object, as it does itself of an update.
// Every other error stays.
func (r *request) ofAnother(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return err
	}
	var patch struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
	}
	if json.Unmarshal(r.body, &patch) != nil || patch.Metadata.UID == "" {
		return err
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return apierrors.NewConflict(r.resource.gvr.GroupResource(), r.name, fmt.Errorf("the patch is of the object with UID %s, which was deleted and made anew", patch.Metadata.UID))
		}
	}
	return err
}

// mergeDiff returns the JSON merge patch (RFC 7386) that makes modified of base.
func mergeDiff(base, modified map[string]any) map[string]any {
	patch := map[string]any{}
	for name, old := range base {
		if old != nil && modified[name] == nil {
			patch[name] = nil
		}
	}
	for name, value := range modified {
		if value == nil {
			continue
		}
		old, ok := base[name]
		oldMap, oldIsMap := old.(map[string]any)
		newMap, newIsMap := value.(map[string]any)
		switch {
		case ok && oldIsMap && newIsMap:
			if diff := mergeDiff(oldMap, newMap); len(diff) > 0 {
				patch[name] = diff
			}
		case !ok || !reflect.DeepEqual(old, value):
			patch[name] = value
		}
	}
	return patch
}
