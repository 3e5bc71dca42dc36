package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// confirmWitnesses writes each witness to two API servers: one has the old CRDs, the other has the new ones. It returns
// an error if the servers' responses differ from kctrl's results.
func confirmWitnesses(ctx context.Context, s *streams, kind string, sides *diffSides, r *diff.Report) error {
	before, stop, err := serverWith(ctx, s, kind, sides.old, r)
	if err != nil {
		return err
	}
	defer stop()
	after, stop, err := serverWith(ctx, s, kind, sides.new, r)
	if err != nil {
		return err
	}
	defer stop()
	var errs []error
	confirmed := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, try := range []struct {
			lenient, strict *kubectl.Client
			witness         *witness.Witness
		}{{before, after, f.Witness}, {after, before, f.Backward}} {
			if try.witness == nil {
				continue
			}
			reason, err := confirmWitness(ctx, try.lenient, try.strict, try.witness)
			if err != nil {
				return err
			}
			if reason != "" {
				errs = append(errs, diagnostic.At(f.Pos,
					fmt.Sprintf("%s: API servers do not confirm the witness: %s", f.Title(), reason),
					"report a bug of kctrl, with both CRDs"))
				continue
			}
			confirmed++
		}
	}
	s.notice(fmt.Sprintf("API servers (%s) confirm %d of %d witnesses", kind, confirmed, confirmed+len(errs)))
	return errors.Join(errs...)
}

// serverWith starts an API server with the changed CRDs of a side, without webhook conversion.
func serverWith(ctx context.Context, s *streams, kind string, side *input.Side,
	r *diff.Report) (*kubectl.Client, func(), error) {
	kubeconfig, stop, err := startServer(ctx, s, kind == confirmInMemory)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubectl.Connect(kubeconfig)
	if err == nil {
		err = client.Apply(ctx, definitionsOf(side, r))
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return client, stop, nil
}

// definitionsOf returns the CRDs of a side that have findings in a report, as manifests for an API server.
func definitionsOf(side *input.Side, r *diff.Report) []kubectl.Manifest {
	var manifests []kubectl.Manifest
	done := map[string]bool{}
	for _, f := range r.Findings {
		crd := side.CRDs[f.CRD]
		if crd == nil || done[f.CRD] {
			continue
		}
		done[f.CRD] = true
		given := crd.DeepCopy()
		given.Spec.Conversion, given.Spec.PreserveUnknownFields = nil, false
		content := map[string]any{}
		text, err := json.Marshal(given)
		if err != nil || json.Unmarshal(text, &content) != nil {
			continue // decoded from JSON, so encoding succeeds
		}
		delete(content, "status")
		content["metadata"] = map[string]any{"name": crd.Name,
			"annotations": content["metadata"].(map[string]any)["annotations"]}
		manifests = append(manifests, kubectl.Manifest{Object: &unstructured.Unstructured{Object: content}})
	}
	return manifests
}

// confirmWitness returns how the responses of two servers contradict a witness. It returns "" if they confirm it.
func confirmWitness(ctx context.Context, lenient, strict *kubectl.Client, w *witness.Witness) (string, error) {
	attempt := kubectl.Attempt{Object: objectOf(w.Object), Before: objectOf(w.Before), Status: w.Status}
	accepted, err := lenient.Try(ctx, attempt)
	if refused, ok := errors.AsType[*kubectl.RefusedError](err); ok {
		return "the lenient server rejects it: " + refused.Reason, nil
	} else if err != nil {
		return "", err
	}
	got, err := strict.Try(ctx, attempt)
	if _, ok := errors.AsType[*kubectl.RefusedError](err); ok {
		return "", nil
	} else if err != nil {
		return "", err
	}
	if w.Reason != "" {
		return "both accept it", nil
	}
	if reflect.DeepEqual(content(accepted), content(got)) {
		return "both store the same", nil
	}
	return "", nil
}

func objectOf(content map[string]any) *unstructured.Unstructured {
	if content == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
}

// content returns an object without the metadata that servers set.
func content(o *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(o.Object)
	delete(out, "metadata")
	return out
}
