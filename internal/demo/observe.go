package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// pollInterval is the time between two observations.
const pollInterval = 20 * time.Millisecond

// observer observes the sample only through the API server.
type observer struct {
	client *kubectl.Client
	out    io.Writer
}

// waitReady blocks until the sample has this generation and its status reports Ready for the same generation.
func (o observer) waitReady(ctx context.Context, generation int64) error {
	return o.wait(ctx, func(sample *unstructured.Unstructured) (state string, done bool) {
		if sample == nil || sample.GetGeneration() != generation {
			return "", false
		}
		observed, _, _ := unstructured.NestedInt64(sample.Object, "status", "observedGeneration")
		status := cmp.Or(kubectl.ConditionStatus(*sample, "Ready"), "Unknown")
		return fmt.Sprintf("generation=%d observedGeneration=%d Ready=%s", generation, observed, status),
			observed == generation && status == string(metav1.ConditionTrue)
	})
}

// waitGone blocks until the sample does not exist.
func (o observer) waitGone(ctx context.Context) error {
	return o.wait(ctx, func(sample *unstructured.Unstructured) (state string, done bool) {
		if sample != nil {
			return "", false
		}
		return "does not exist", true
	})
}

// wait reads the sample until it has the wanted state, and prints each new state. The sample is nil if it does not
// exist.
func (o observer) wait(ctx context.Context, wanted func(*unstructured.Unstructured) (state string, done bool)) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		var sample *unstructured.Unstructured
		selection := kubectl.Selection{Resources: []string{"guestbooks"}, Names: []string{sampleName}}
		err := o.client.List(ctx, selection, func(found *unstructured.Unstructured) { sample = found })
		if err != nil {
			return false, err
		}
		state, done := wanted(sample)
		if state != "" && state != last {
			fmt.Fprintf(o.out, "  API server | %s %s\n", sampleName, state)
		}
		last = cmp.Or(state, last)
		return done, nil
	})
	if err != nil {
		return fmt.Errorf("last state of %s: %q: %w", sampleName, last, err)
	}
	return nil
}
