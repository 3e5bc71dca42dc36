package stalestatus

import (
	"context"

	v1 "example.com/api/v1"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func lost(ctx context.Context, c client.Client, site *v1.Site) error {
	site.Status.Phase = "Ready"
	site.Labels = nil
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	return c.Status().Update(ctx, site) // want `stalestatus: the status of line 13 is replaced by the answer of Update at line 15`
}

func lostByPatch(ctx context.Context, c kclient.Client, key kclient.ObjectKey) error {
	site := &v1.Site{}
	if err := c.Get(ctx, key, site); err != nil {
		return err
	}
	before := site.DeepCopy()
	site.Status.Phase = "Ready"
	if err := c.Patch(ctx, site, kclient.MergeFrom(before)); err != nil {
		return err
	}
	return c.Status().Patch(ctx, site, kclient.MergeFrom(before)) // want `replaced by the answer of Patch`
}

func staleCopy(ctx context.Context, c client.Client, site *v1.Site) error {
	before := site.DeepCopy()
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	before.Status.Phase = "Ready"
	return c.Status().Update(ctx, before) // want `Update at line 36 made the version of this copy old`
}

func staleOriginal(ctx context.Context, c client.Client, site *v1.Site) error {
	changed := site.DeepCopy()
	if err := c.Update(ctx, changed); err != nil {
		return err
	}
	site.Status.Phase = "Ready"
	return c.Status().Update(ctx, site) // want `made the version of this copy old`
}

func sameVersion(ctx context.Context, c client.Client, site *v1.Site) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		site.Status.Phase = "Ready"
		return c.Status().Update(ctx, site) // want `each retry of Update sends the same version`
	})
}

func readAgain(ctx context.Context, c client.Client, site *v1.Site, key client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, key, site); err != nil {
			return err
		}
		site.Status.Phase = "Ready"
		return c.Status().Update(ctx, site)
	})
}

func setAfter(ctx context.Context, c client.Client, site *v1.Site) error {
	site.Status.Phase = "Working"
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	site.Status.Phase = "Ready"
	return c.Status().Update(ctx, site)
}

func mergePatchOfCopy(ctx context.Context, c client.Client, site *v1.Site) error {
	before := site.DeepCopy()
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	return c.Status().Patch(ctx, before, nil)
}

func freshCopy(ctx context.Context, c client.Client, site *v1.Site) error {
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	after := site.DeepCopy()
	return c.Status().Update(ctx, after)
}
