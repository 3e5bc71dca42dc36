package registry_test

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/registry"
)

// loop is a controller that does nothing.
type loop struct{}

func (loop) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// A program's unit test validates its descriptors. The error contains all mistakes at once.
func ExampleRegistry_Validate() {
	build := func(context.Context, *registry.Context) (registry.Controller, error) { return loop{}, nil }
	r := registry.New(registry.Options{FeatureGates: []registry.FeatureGate{
		{Name: "FastSync", Specs: []registry.GateSpec{{Since: "1.2", Stage: registry.Alpha}}},
	}})
	r.Register(
		registry.Descriptor{Name: "guestbook-controller", Aliases: []string{"guestbook"}, New: build},
		registry.Descriptor{Name: "sync-controller", Aliases: []string{"guestbook"}, FeatureGates: []string{"FastSnyc"}},
	)
	fmt.Println(r.Validate())
	// Output:
	// controller sync-controller: it has no constructor
	// controller sync-controller: unknown feature gate "FastSnyc"; did you mean "FastSync"?
	// controller sync-controller: the alias "guestbook" is one of controller guestbook-controller already
}

// A feature gate enables a feature. The gate records the versions in which its default changed.
func ExampleFeatureGates_Enabled() {
	r := registry.New(registry.Options{Version: "1.3", FeatureGates: []registry.FeatureGate{
		{Name: "FastSync", Specs: []registry.GateSpec{
			{Since: "1.2", Stage: registry.Alpha},
			{Since: "1.3", Stage: registry.Beta, Default: true},
			{Since: "1.4", Stage: registry.GA, Default: true, Locked: true},
		}},
	}})
	fmt.Println(r.FeatureGates().Enabled("FastSync"))
	// Output: true
}
