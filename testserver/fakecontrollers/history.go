package fakecontrollers

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// history is the list of ControllerRevisions of a StatefulSet or DaemonSet, oldest first. Each contains a template.
type history []*appsv1.ControllerRevision

// sync gives the revision of the current template the highest number. If no revision has equal data, it creates the
// revision from fresh.
func (h history) sync(ctx context.Context, c client.Client, owner object.Object, data []byte,
	fresh *appsv1.ControllerRevision) (history, error) {
	slices.SortFunc(h, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	next := int64(1)
	if len(h) > 0 {
		next = h[len(h)-1].Revision + 1
	}
	same := slices.IndexFunc(h, func(r *appsv1.ControllerRevision) bool { return sameJSON(r.Data.Raw, data) })
	switch {
	case same >= 0 && same == len(h)-1:
		return h, nil
	case same >= 0:
		again := h[same]
		base := again.DeepCopy()
		again.Revision = next
		return append(slices.Delete(h, same, same+1), again), c.Patch(ctx, again, client.MergeFrom(base))
	}
	fresh.Namespace, fresh.Revision, fresh.Data, fresh.Annotations = owner.GetNamespace(), next,
		runtime.RawExtension{Raw: data}, maps.Clone(owner.GetAnnotations())
	err := createOwned(ctx, c, owner, fresh)
	if apierrors.IsAlreadyExists(err) {
		return nil, err // the name collides with another revision; the caller may count this
	}
	return append(h, fresh), err
}

// forget deletes the oldest unused revisions beyond the limit.
func (h history) forget(ctx context.Context, c client.Client, limit *int32,
	used func(*appsv1.ControllerRevision) bool) error {
	if limit == nil {
		return nil
	}
	unused := slices.DeleteFunc(slices.Clone(h), used)
	return each(unused[:max(0, len(unused)-int(*limit))],
		func(r *appsv1.ControllerRevision) error { return controllerutil.DeleteWithUID(ctx, c, r) })
}

// revisionData returns the data of the revision for a template, which is a patch that restores the template.
func revisionData(template *corev1.PodTemplateSpec) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return nil, err
	}
	content["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": content}})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// templateIn returns the template that a revision contains.
func templateIn(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var kept struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	return &kept.Spec.Template, json.Unmarshal(r.Data.Raw, &kept)
}
