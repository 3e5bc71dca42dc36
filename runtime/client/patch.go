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

// Patch is a change to an object, which is sent in one request.
type Patch interface {
	// Type is the content type of the patch.
	Type() types.PatchType
	// Data returns the body of the patch for the object that is passed to Patch.
	Data(obj object.Object) ([]byte, error)
}

// RawPatch returns a patch of type patchType with data as its body.
func RawPatch(patchType types.PatchType, data []byte) Patch {
	return &patch{patchType: patchType, data: data}
}

// Merge is a JSON merge patch with the whole content of the object that is passed to Patch, including its
// resourceVersion if set. Absent fields stay unchanged. [MergeFrom] sends only the changes.
var Merge Patch = wholePatch{}

// MergeFrom returns the JSON merge patch from base, a copy that was taken before the changes, to the object that is
// passed to Patch. The patch contains only the fields that differ; of a list that differs, it contains all items. It
// never contains the resourceVersion, so the last writer wins. base must not be modified until Patch has returned. If
// the object was read from a cache with only some of its fields, base must have the same fields; otherwise Patch fails
// with a [*MaskedError].
//
// A patch with changes contains the UID of base, if set. If the object has since been replaced by a new object of the
// same name, Patch fails with a conflict, like an Update. The server ignores the UID in a patch of the status of a
// custom resource. To protect such a status, use [MergeFromWithOptimisticLock].
func MergeFrom(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.MergePatchType, base: base}
}

// MergeFromWithOptimisticLock returns the patch of [MergeFrom] with the resourceVersion of base, which must be set. The
// patch fails with a conflict if the object has changed since.
func MergeFromWithOptimisticLock(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.MergePatchType, base: base, lock: true}
}

// The names of these types must not change, because mocks refer to them, for example as
// AnythingOfType("*client.mergeFromPatch").

type patch struct {
	patchType types.PatchType
	data      []byte
}

func (p *patch) Type() types.PatchType              { return p.patchType }
func (p *patch) Data(object.Object) ([]byte, error) { return p.data, nil }

type wholePatch struct{}

func (wholePatch) Type() types.PatchType { return types.MergePatchType }

func (wholePatch) Data(obj object.Object) ([]byte, error) {
	fields, err := configuration.Map(obj)
	if err != nil {
		return nil, err
	}
	if object.Mask(obj) != nil { // the mark of a mask is not part of the object
		dropManagedFields(fields)
	}
	return json.Marshal(fields)
}

// mergeFromPatch is a merge patch or a strategic merge patch.
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
		return finishPatch(strategicDiff(reflect.TypeOf(obj), base, modified), p.base, p.lock)
	}
	return finishPatch(mergeDiff(base, modified), p.base, p.lock)
}

// toMaps returns two objects of one Go type as decoded JSON.
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
	if object.Mask(base) != nil || object.Mask(obj) != nil { // the mark of a mask is not a change
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

// finishPatch encodes patch, without fields that differ but are not changes. A patch with changes or with lock gets the
// UID of base if set, and with lock also the resourceVersion of base.
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

// ofAnother converts the server's error for a patch with the UID of another object to a conflict, which the server
// returns for such updates. It returns other errors unchanged.
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
			return apierrors.NewConflict(r.resource.gvr.GroupResource(), r.name,
				fmt.Errorf("the patch is of the object with UID %s, which was deleted and recreated", patch.Metadata.UID))
		}
	}
	return err
}

// mergeDiff returns the JSON merge patch (RFC 7386) from base to modified.
func mergeDiff(base, modified map[string]any) map[string]any {
	return diffFields(base, modified, func(patch map[string]any, name string, old, value any) {
		oldMap, wasMap := old.(map[string]any)
		newMap, isMap := value.(map[string]any)
		if !wasMap || !isMap {
			patch[name] = value
		} else if diff := mergeDiff(oldMap, newMap); len(diff) > 0 {
			patch[name] = diff
		}
	})
}

// diffFields returns the patch from base to modified. It calls change for each field that is set in both and differs.
func diffFields(base, modified map[string]any,
	change func(patch map[string]any, name string, old, value any)) map[string]any {
	patch := map[string]any{}
	for name, old := range base {
		if old != nil && modified[name] == nil {
			patch[name] = nil
		}
	}
	for name, value := range modified {
		old := base[name]
		switch {
		case value == nil || reflect.DeepEqual(old, value):
		case old == nil:
			patch[name] = value
		default:
			change(patch, name, old, value)
		}
	}
	return patch
}
