package controlplane

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// WaitFor waits until the named object exists and the status of its condition is True.
func (s *Objects) WaitFor(ctx context.Context, resource, name, namespace, condition string) error {
	status := "not set"
	var failure error
	err := s.wait(ctx, func(ctx context.Context) bool {
		found, err := s.Find(ctx, resource, name, namespace)
		switch {
		case apierrors.IsNotFound(err):
			status = "not set: the object does not exist"
		case err != nil && ctx.Err() == nil:
			failure = err
			return true
		case err == nil:
			if status = ConditionStatus(found[0], condition); status == "" {
				status = "not set"
			}
		}
		return status == "True"
	})
	if failure != nil {
		return failure
	}
	if err != nil {
		return &diagnostic.Error{
			Message: fmt.Sprintf("condition %s of %s %s is %s: %v", condition, resource, name, status, err),
			Hint:    "look at the object with -o yaml, and at the log of its operator",
			Cause:   err,
		}
	}
	return nil
}

// ConditionStatus returns the status of a condition, such as True, or nothing when the object has no such condition.
func ConditionStatus(o unstructured.Unstructured, condition string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == condition {
			return fmt.Sprint(fields["status"])
		}
	}
	return ""
}
