/*
Copyright 2026.
*/

package conversion

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"

	booksv1 "example.com/library/api/v1"
	booksv2 "example.com/library/api/v2"
)

// ShelfV1 converts version v1 of Shelf from and to its hub, v2.
var ShelfV1 = conversion.NewSpoke(shelfV2ToV1, shelfV1ToV2)

// shelfV2ToV1 sets the fields of spoke after its metadata. conversion.Keep stores fields that
// v1 lacks for the conversion back.
func shelfV2ToV1(_ context.Context, hub *booksv2.Shelf, spoke *booksv1.Shelf) error {
	spoke.Spec.Rows = hub.Spec.Rows
	spoke.Status.ObservedGeneration = hub.Status.ObservedGeneration
	spoke.Status.Conditions = hub.Status.Conditions
	return nil
}

// shelfV1ToV2 sets the fields of hub after its metadata. conversion.Restore returns stored fields.
func shelfV1ToV2(_ context.Context, spoke *booksv1.Shelf, hub *booksv2.Shelf) error {
	hub.Spec.Rows = spoke.Spec.Rows
	hub.Status.ObservedGeneration = spoke.Status.ObservedGeneration
	hub.Status.Conditions = spoke.Status.Conditions
	return nil
}
