package controller

import (
	"maps"
	"reflect"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
)

// isMine reports whether e is certainly the event of a write by w, or by this process outside of reconciles, and
// contains no other change. Writes by reconciles of another controller are foreign. Otherwise, a controller that waits
// for an object from another controller would wait for the end of its backoff although the object exists.
func isMine(log *writes.Log, w *writes.Writer, e event) bool {
	uid := e.Object.GetUID()
	if uid == "" || e.Merged || e.FinalStateUnknown { // the event may contain other changes of any origin
		return false
	}
	version := "" // the removal of an object has no version of its own
	if e.Type != informer.Deleted {
		version = e.Object.GetResourceVersion()
	}
	return log.Mine(w, uid, version) || beginsDeletion(e) && log.MineEnding(w, uid)
}

// beginsDeletion reports whether e sets a deletion timestamp, or is the removal of an object that had none.
func beginsDeletion(e event) bool {
	switch e.Type {
	case informer.Updated:
		return e.Old.GetDeletionTimestamp() == nil && e.Object.GetDeletionTimestamp() != nil
	case informer.Deleted:
		return e.Object.GetDeletionTimestamp() == nil
	}
	return false
}

// isStatusOnly reports whether an update leaves the fields of users and other controllers unchanged: generation,
// labels, annotations, finalizers, owners and deletion. It returns false for an object without a generation.
func isStatusOnly(e event) bool {
	if e.Type != informer.Updated {
		return false
	}
	before, now := e.Old, e.Object
	return now.GetGeneration() != 0 && before.GetGeneration() == now.GetGeneration() &&
		before.GetUID() == now.GetUID() &&
		(before.GetDeletionTimestamp() == nil) == (now.GetDeletionTimestamp() == nil) &&
		maps.Equal(before.GetLabels(), now.GetLabels()) &&
		maps.Equal(before.GetAnnotations(), now.GetAnnotations()) &&
		slices.Equal(before.GetFinalizers(), now.GetFinalizers()) &&
		reflect.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences())
}
