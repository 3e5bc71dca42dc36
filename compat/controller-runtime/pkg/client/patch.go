package client

import (
	"errors"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var (
	// Apply sends the object as a server-side apply.
	//
	// Deprecated: use the Apply method of the client.
	Apply Patch = whole{types.ApplyPatchType}
	// Merge sends the object as a JSON merge patch.
	Merge Patch = whole{types.MergePatchType}
)

// whole is a patch that consists of the whole object.
type whole struct{ patchType types.PatchType }

// Type implements [Patch].
func (w whole) Type() types.PatchType { return w.patchType }

// Data implements [Patch].
func (w whole) Data(obj Object) ([]byte, error) { return json.Marshal(obj) }

// RawPatch returns a patch with the given data.
func RawPatch(patchType types.PatchType, data []byte) Patch { return raw{patchType, data} }

type raw struct {
	patchType types.PatchType
	data      []byte
}

// Type implements [Patch].
func (r raw) Type() types.PatchType { return r.patchType }

// Data implements [Patch].
func (r raw) Data(Object) ([]byte, error) { return r.data, nil }

// MergeFromWithOptimisticLock makes a patch fail with a conflict if the object has changed since the base was read.
type MergeFromWithOptimisticLock struct{}

// ApplyToMergeFrom implements [MergeFromOption].
func (m MergeFromWithOptimisticLock) ApplyToMergeFrom(in *MergeFromOptions) { in.OptimisticLock = true }

// MergeFromOption changes the options of [MergeFromWithOptions] and [StrategicMergeFrom].
type MergeFromOption interface {
	ApplyToMergeFrom(*MergeFromOptions)
}

// MergeFromOptions are the options of patches with differences.
type MergeFromOptions struct {
	// OptimisticLock puts the resource version of the base into the patch.
	OptimisticLock bool
}

// MergeFrom returns a JSON merge patch with the differences between obj and the object that is passed to Patch.
func MergeFrom(obj Object) Patch { return MergeFromWithOptions(obj) }

// MergeFromWithOptions is like [MergeFrom], with options.
func MergeFromWithOptions(obj Object, opts ...MergeFromOption) Patch {
	return newDifference(types.MergePatchType, obj, opts, func(base, modified []byte, _ any) ([]byte, error) {
		return jsonpatch.CreateMergePatch(base, modified)
	})
}

// StrategicMergeFrom is like [MergeFromWithOptions], but returns a strategic merge patch.
func StrategicMergeFrom(obj Object, opts ...MergeFromOption) Patch {
	return newDifference(types.StrategicMergePatchType, obj, opts,
		func(base, modified []byte, goType any) ([]byte, error) {
			return strategicpatch.CreateTwoWayMergePatch(base, modified, goType)
		})
}

// difference is a patch with the differences to a base.
type difference struct {
	patchType types.PatchType
	base      Object
	options   MergeFromOptions
	create    func(base, modified []byte, goType any) ([]byte, error)
}

func newDifference(
	patchType types.PatchType, base Object, opts []MergeFromOption,
	create func(base, modified []byte, goType any) ([]byte, error),
) Patch {
	d := &difference{patchType: patchType, base: base, create: create}
	for _, opt := range opts {
		opt.ApplyToMergeFrom(&d.options)
	}
	return d
}

// Type implements [Patch].
func (d *difference) Type() types.PatchType { return d.patchType }

// Data implements [Patch].
func (d *difference) Data(obj Object) ([]byte, error) {
	base, modified := d.base, obj
	if d.options.OptimisticLock {
		version := base.GetResourceVersion()
		if version == "" {
			return nil, errors.New("cannot use OptimisticLock: the base of the patch has no resource version")
		}
		// The base has no resource version, so the difference contains the version of the modified object.
		base, modified = base.DeepCopyObject().(Object), modified.DeepCopyObject().(Object)
		base.SetResourceVersion("")
		modified.SetResourceVersion(version)
	}
	before, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(modified)
	if err != nil {
		return nil, err
	}
	return d.create(before, after, obj)
}
