/*
Copyright 2026.
*/

package conversion_test

import (
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversiontest"

	"example.org/fleet/internal/conversion/sea.creatures"
)

// TestClientV1alpha1LosesNothing converts random objects in both directions, and names fields that are lost.
func TestClientV1alpha1LosesNothing(t *testing.T) {
	conversiontest.RoundTrip(t, conversion.ClientV1alpha1)
}
