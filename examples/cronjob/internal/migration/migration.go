/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package migration makes the API server store all objects in the current storage version, so that you can remove an
// old version.
package migration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=cronjobs.batch.example.com,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=cronjobs.batch.example.com,verbs=patch
// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs,verbs=list;patch

// SetupWithManager makes m migrate the CronJobs when it starts or, with leader election, when it becomes the leader.
func SetupWithManager(m controller.Manager) error {
	return m.Add(&Migration{Client: m.Client(), CRD: "cronjobs.batch.example.com", Logger: m.Logger()})
}

// Migration writes every object of a kind once. It reads and writes only the metadata of the objects.
type Migration struct {
	Client client.Client
	CRD    string // name of the CustomResourceDefinition
	Logger *slog.Logger
}

// Name returns the name of the migration in logs.
func (m *Migration) Name() string { return "storage-migration" }

// Run runs the migration. After an error, it retries, for example because the API server does not yet trust the
// conversion webhook.
func (m *Migration) Run(ctx context.Context) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := m.Migrate(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		m.Logger.Warn("cannot migrate what is stored, trying again", "crd", m.CRD, "in", pause, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Migrate rewrites all objects in the current storage version and records that version in the status of the CRD. It
// does nothing if the status already lists only that version.
func (m *Migration) Migrate(ctx context.Context) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	if err := m.Client.Get(ctx, object.Key{Name: m.CRD}, crd, client.Live); err != nil {
		return err
	}
	kind := stored(crd)
	before, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if err != nil || slices.Equal(before, []string{kind.Version}) {
		return err
	}
	n, err := m.writeAll(ctx, kind)
	if err != nil {
		return err
	}
	// The optimistic lock rejects the patch if the storage version changed in the meantime.
	base := crd.DeepCopy()
	if err := unstructured.SetNestedStringSlice(crd.Object, []string{kind.Version}, "status",
		"storedVersions"); err != nil {
		return err
	}
	if err := m.Client.Status().Patch(ctx, crd, client.MergeFromWithOptimisticLock(base)); err != nil {
		return err
	}
	m.Logger.Info("all objects are stored in one version", "crd", m.CRD, "version", kind.Version, "before", before,
		"objects", n)
	return nil
}

// stored returns the kind of a CRD, with its storage version.
func stored(crd *unstructured.Unstructured) (gvk schema.GroupVersionKind) {
	gvk.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	gvk.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["storage"] == true {
			gvk.Version, _ = version["name"].(string)
		}
	}
	return gvk
}

// pageSize is the number of objects per request.
const pageSize = 500

// writeAll sends an empty patch for each object, and returns the number of objects. After a patch, the API server
// stores the object again if its encoding has changed.
func (m *Migration) writeAll(ctx context.Context, kind schema.GroupVersionKind) (n int, err error) {
	nothing := client.RawPatch(types.MergePatchType, []byte("{}"))
	var errs []error
	for page := (metav1.PartialObjectMetadataList{}); ; {
		token := client.Continue(page.Continue)
		page = metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := m.Client.List(ctx, &page, client.Live, client.Limit(pageSize), token); err != nil {
			return n, errors.Join(append(errs, err)...)
		}
		for i := range page.Items {
			item := &page.Items[i]
			key := object.KeyOf(item)
			item.SetGroupVersionKind(kind)
			if err := m.Client.Patch(ctx, item, nothing); client.IgnoreNotFound(err) != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
			n++
		}
		if page.Continue == "" {
			return n, errors.Join(errs...)
		}
	}
}
