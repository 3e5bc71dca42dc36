/*
Copyright 2026.
*/

package conversion_test

import (
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversiontest"

	"example.com/library/internal/conversion"
)

// TestShelfV1LosesNothing converts random objects in both directions, and names fields that are lost.
func TestShelfV1LosesNothing(t *testing.T) {
	conversiontest.RoundTrip(t, conversion.ShelfV1)
}
