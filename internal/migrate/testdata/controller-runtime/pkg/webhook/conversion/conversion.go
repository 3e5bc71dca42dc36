// Package conversion has the signatures of controller-runtime's.
package conversion

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Converter interface {
	ConvertObject(ctx context.Context, src, dst runtime.Object) error
}

type Registry interface{ RegisterConverter(Converter) error }

type SpokeConverter[hub runtime.Object] interface{ GetSpoke() runtime.Object }

func NewHubSpokeConverter[hub runtime.Object](h hub, spokes ...SpokeConverter[hub]) func(scheme *runtime.Scheme) (Converter, error) {
	return nil
}

func NewSpokeConverter[hub, spoke client.Object](s spoke, fromHub func(ctx context.Context, src hub, dst spoke) error, toHub func(ctx context.Context, src spoke, dst hub) error) SpokeConverter[hub] {
	return nil
}
