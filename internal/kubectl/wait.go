package kubectl

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// WaitFor waits until each selected object exists and has the condition, such as "Ready=False". "Ready" means
// "Ready=True".
func (c *Client) WaitFor(ctx context.Context, s Selection, condition string) error {
	condition, wanted, given := strings.Cut(condition, "=")
	if !given {
		wanted = "True"
	}
	references, err := c.selected(ctx, s)
	if err != nil {
		return err
	}
	for _, ref := range references {
		if err := c.waitForCondition(ctx, ref, condition, wanted); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) waitForCondition(ctx context.Context, ref reference, condition, wanted string) error {
	status := "not set"
	err := c.wait(ctx, func(ctx context.Context) (bool, error) {
		found, err := c.object(ctx, ref)
		if apierrors.IsNotFound(err) {
			status = "not set: the object does not exist"
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if status = ConditionStatus(*found, condition); status == "" {
			status = "not set"
		}
		return strings.EqualFold(status, wanted), nil
	})
	if timedOut(err) {
		return diagnostic.Because(err, fmt.Sprintf("condition %s of %s is %s: %v", condition, ref, status, err),
			"look at the object with -o yaml, and at the log of its operator; --timeout waits longer")
	}
	return err
}

// ConditionStatus returns the status of a condition, such as "True", or "" if the object does not have the condition.
func ConditionStatus(o unstructured.Unstructured, condition string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == condition {
			return fmt.Sprint(fields["status"])
		}
	}
	return ""
}
