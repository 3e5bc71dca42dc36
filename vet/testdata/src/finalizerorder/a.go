package finalizerorder

import (
	"context"

	v1 "example.com/api/v1"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kutil "github.com/kctrl-dev/kctrl/runtime/controllerutil"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

type storage interface {
	DeleteBucket(ctx context.Context, name string) error
}

func deletesLater(ctx context.Context, c client.Client, site *v1.Site) error {
	controllerutil.RemoveFinalizer(site, "example.com/x")
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	return c.Delete(ctx, &corev1.ConfigMap{}) // want `finalizerorder: Delete follows the removal of the finalizer at line 19`
}

func bucketLater(ctx context.Context, c kclient.Client, s storage, site *v1.Site) error {
	before := site.DeepCopy()
	if kutil.RemoveFinalizer(site, "example.com/x") {
		if err := c.Patch(ctx, site, kclient.MergeFrom(before)); err != nil {
			return err
		}
		return s.DeleteBucket(ctx, site.Name) // want `DeleteBucket follows the removal`
	}
	return nil
}

func cleanUp(ctx context.Context, site *v1.Site) error { return nil }

func functionLater(ctx context.Context, c client.Client, site *v1.Site) error {
	controllerutil.RemoveFinalizer(site, "example.com/x")
	if err := c.Update(ctx, site); err != nil {
		return err
	}
	if err := cleanUp(ctx, site); err != nil { // want `cleanUp follows the removal`
		return err
	}
	return nil
}

func first(ctx context.Context, c client.Client, s storage, site *v1.Site) error {
	if err := s.DeleteBucket(ctx, site.Name); err != nil {
		return err
	}
	if err := c.Delete(ctx, &corev1.ConfigMap{}); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(site, "example.com/x")
	return c.Update(ctx, site)
}

func notStoredYet(ctx context.Context, c client.Client, s storage, site *v1.Site) error {
	controllerutil.RemoveFinalizer(site, "example.com/x")
	if err := s.DeleteBucket(ctx, site.Name); err != nil {
		return err
	}
	return c.Update(ctx, site)
}

func otherBranch(ctx context.Context, c client.Client, site *v1.Site, deleting bool) error {
	if deleting {
		controllerutil.RemoveFinalizer(site, "example.com/x")
		return c.Update(ctx, site)
	}
	return c.Delete(ctx, &corev1.ConfigMap{})
}
