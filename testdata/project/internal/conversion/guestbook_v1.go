/*
Copyright 2026 The Guestbook Authors.

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

package conversion

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"

	webappv1 "example.com/guestbook/api/v1"
	webappv2 "example.com/guestbook/api/v2"
)

// GuestbookV1 converts version v1 of Guestbook from and to its hub, v2.
var GuestbookV1 = conversion.NewSpoke(guestbookV2ToV1, guestbookV1ToV2)

// guestbookV2ToV1 sets the fields of spoke after its metadata. conversion.Keep stores fields that
// v1 lacks for the conversion back.
func guestbookV2ToV1(_ context.Context, hub *webappv2.Guestbook, spoke *webappv1.Guestbook) error {
	spoke.Spec.Message = hub.Spec.Message
	spoke.Status.ObservedGeneration = hub.Status.ObservedGeneration
	spoke.Status.Conditions = hub.Status.Conditions
	return nil
}

// guestbookV1ToV2 sets the fields of hub after its metadata. conversion.Restore returns stored fields.
func guestbookV1ToV2(_ context.Context, spoke *webappv1.Guestbook, hub *webappv2.Guestbook) error {
	hub.Spec.Message = spoke.Spec.Message
	hub.Status.ObservedGeneration = spoke.Status.ObservedGeneration
	hub.Status.Conditions = spoke.Status.Conditions
	return nil
}
