package controller

import (
	"cmp"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// explain adds advice for the operator's author to an error of the API server.
func explain(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		if marker := missingMarker(err); marker != "" {
			return fmt.Errorf("%w; the marker %s on the reconciler would allow it", err, marker)
		}
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w; its CRD is not installed", err)
	}
	return err
}

// explainKind adds advice to the error of an object with an unknown kind.
func explainKind(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if runtime.IsNotRegisteredError(cause) {
			return fmt.Errorf("%w; add its package first, with its AddToScheme(m.Scheme())", err)
		}
	}
	return err
}

// missingMarker returns the RBAC marker that would permit a forbidden list or watch.
func missingMarker(err error) string {
	sync, isSync := errors.AsType[*reflector.SyncError](err)
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	if !isSync || !isStatus || sync == nil || status.Status().Details == nil {
		return ""
	}
	details := status.Status().Details // its kind is the resource
	return fmt.Sprintf("+kubebuilder:rbac:groups=%s,resources=%s,verbs=get;list;watch",
		cmp.Or(details.Group, `""`), details.Kind)
}
