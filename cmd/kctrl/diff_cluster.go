package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// clusterDefinitions returns the CRDs of a cluster that the other side also has.
func clusterDefinitions(ctx context.Context, client *kubectl.Client, other *input.Side) (*input.Side, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	var bad error
	err := client.List(ctx, kubectl.Selection{Resources: []string{"customresourcedefinitions.v1.apiextensions.k8s.io"}},
		func(o *unstructured.Unstructured) {
			if other.CRDs[o.GetName()] == nil {
				return
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			text, err := json.Marshal(o.Object)
			if err == nil {
				err = json.Unmarshal(text, crd)
			}
			bad = cmp.Or(err, bad)
			crds = append(crds, crd)
		})
	if err = cmp.Or(err, bad); err != nil {
		return nil, diagnostic.Because(err, "cannot read the CRDs of the cluster: "+diagnostic.OneLine(err.Error()),
			"choose the cluster with --kubeconfig or KUBECONFIG, and check that it is reachable")
	}
	return input.Objects("the cluster", crds), nil
}

// checkObjects adds the objects on a cluster that the changed CRDs break to a report.
func checkObjects(ctx context.Context, client *kubectl.Client, d *diffSides, r *diff.Report) error {
	done := map[string]bool{}
	for _, f := range r.Findings {
		if done[f.CRD] {
			continue
		}
		done[f.CRD] = true
		before := d.old.CRDs[f.CRD].CustomResourceDefinition
		var after *apiextensionsv1.CustomResourceDefinition
		if d.new.CRDs[f.CRD] != nil {
			after = d.new.CRDs[f.CRD].CustomResourceDefinition
		}
		version := change.Storage(before)
		if version == nil || !version.Served {
			continue
		}
		lenient, strict := witness.NewServer(before), witness.NewServer(after)
		resource := fmt.Sprintf("%s.%s.%s", before.Spec.Names.Plural, version.Name, before.Spec.Group)
		selection := kubectl.Selection{Resources: []string{strings.ToLower(resource)}, AllNamespaces: true}
		err := client.List(ctx, selection, func(o *unstructured.Unstructured) {
			r.CheckExisting(f.CRD, lenient, strict, version.Name, o.Object)
		})
		if err != nil {
			return &diagnostic.Error{Message: "cannot read the objects of " + f.CRD + ": " + diagnostic.OneLine(err.Error()),
				Cause: err}
		}
	}
	return nil
}
