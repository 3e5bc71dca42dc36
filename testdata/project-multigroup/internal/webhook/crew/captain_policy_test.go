/*
Copyright 2026.
*/

package webhook_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestCaptainPolicy creates the sample under two names at an API server that has the policy.
func TestCaptainPolicy(t *testing.T) {
	file, err := os.Open("../../../config/policy/crew_captain_policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var policy []object.Object
	for decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		part := &unstructured.Unstructured{}
		if err := decoder.Decode(part); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		policy = append(policy, part)
	}
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"), testenv.WithObjects(nil, policy...))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}

	sample := &unstructured.Unstructured{}
	content, err := os.ReadFile("../../../config/samples/crew_v1_captain.yaml")
	if err == nil {
		err = yaml.Unmarshal(content, &sample.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	sample.SetNamespace("default")

	// The API server enforces a new policy only after a delay. A dry run stores nothing.
	wrong := sample.DeepCopy()
	wrong.SetName(strings.Repeat("a", 64))
	for err = nil; !apierrors.IsInvalid(err); {
		if err = live.Create(ctx, wrong.DeepCopy(), client.DryRunAll); ctx.Err() != nil {
			t.Fatalf("the invalid object: got %v, want a rejection", err)
		}
	}
	if err := live.Create(ctx, sample, client.DryRunAll); err != nil {
		t.Errorf("the sample: %v", err)
	}
}
