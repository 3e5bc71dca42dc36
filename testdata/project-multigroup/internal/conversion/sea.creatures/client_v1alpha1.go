/*
Copyright 2026.
*/

package conversion

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"

	seacreaturesv1 "example.org/fleet/api/sea.creatures/v1"
	seacreaturesv1alpha1 "example.org/fleet/api/sea.creatures/v1alpha1"
)

// ClientV1alpha1 converts version v1alpha1 of Client from and to its hub, v1.
var ClientV1alpha1 = conversion.NewSpoke(clientObjectV1ToV1alpha1, clientObjectV1alpha1ToV1)

// clientObjectV1ToV1alpha1 sets the fields of spoke after its metadata. conversion.Keep stores fields that
// v1alpha1 lacks for the conversion back.
func clientObjectV1ToV1alpha1(_ context.Context, hub *seacreaturesv1.Client, spoke *seacreaturesv1alpha1.Client) error {
	spoke.Spec.Message = hub.Spec.Message
	spoke.Status.ObservedGeneration = hub.Status.ObservedGeneration
	spoke.Status.Conditions = hub.Status.Conditions
	return nil
}

// clientObjectV1alpha1ToV1 sets the fields of hub after its metadata. conversion.Restore returns stored fields.
func clientObjectV1alpha1ToV1(_ context.Context, spoke *seacreaturesv1alpha1.Client, hub *seacreaturesv1.Client) error {
	hub.Spec.Message = spoke.Spec.Message
	hub.Status.ObservedGeneration = spoke.Status.ObservedGeneration
	hub.Status.Conditions = spoke.Status.Conditions
	return nil
}
