package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// Controller is a controller that a registry runs. While it runs, the registry calls the following methods if the
// controller has them: Ready() error for /readyz, Healthy(*http.Request) error for /healthz, and DebugHandler()
// http.Handler for /debug/controllers/<name>.
type Controller interface {
	// Run runs the controller until ctx ends, and returns after its last goroutine has ended. If Run returns an error
	// before ctx ends, the controller has failed, see [RestartPolicy].
	Run(ctx context.Context) error
}

// Optional interfaces of a Controller.
type (
	readier   interface{ Ready() error }
	healthier interface{ Healthy(r *http.Request) error }
	debugged  interface{ DebugHandler() http.Handler }
	named     interface{ Name() string }
)

// RestartPolicy is how the registry reacts to a failure of a controller: an error or a panic before the controller was
// stopped.
type RestartPolicy int

const (
	// OnError builds and runs the controller again after a delay. The delay is 1 s after the first failure, and doubles
	// with each further failure up to 5 min. It returns to 1 s after the controller has run for 10 min.
	OnError RestartPolicy = iota
	// Never does not restart the controller. /readyz reports the failure.
	Never
	// Fatal ends the manager with the controller's error.
	Fatal
)

// String returns the name.
func (p RestartPolicy) String() string {
	if p < OnError || p > Fatal {
		return fmt.Sprintf("RestartPolicy(%d)", int(p))
	}
	return []string{"OnError", "Never", "Fatal"}[p]
}

// Descriptor describes a controller. Name is required. New is required unless a setup function adds the controller, see
// [Registry.RegisterSetup].
type Descriptor struct {
	// Name identifies the controller in flags, logs and metrics, and to the API server. It must be a DNS name, such as
	// "guestbook-controller".
	Name string
	// Aliases are former names. Flags accept them with a warning. Do not remove an alias, because users may have it in
	// their flags.
	Aliases []string
	// FeatureGates must all be enabled for the controller to run.
	FeatureGates []string
	// DisabledByDefault disables the controller unless --controllers contains its name; * does not enable it.
	DisabledByDefault bool
	// SpecialHandling makes the registry build the controller before all others, and start it before the other controllers
	// of its leader election group, or before all controllers if it runs without leader election. Set it for a controller
	// that other controllers need at their start.
	SpecialHandling bool
	// Needs are the kinds and permissions that the controller needs. The registry checks them before it builds the
	// controllers.
	Needs []Need
	// Election configures which process runs the controller. The zero value means the Election of the controller that New
	// returns, if it has one, and otherwise the main group of the manager.
	Election controller.Election
	// Restart is how the registry reacts to a failure of the controller.
	Restart RestartPolicy
	// Concurrency is the default of --concurrent-<name>-syncs. Zero means the manager's default.
	Concurrency int
	// New builds the controller but does not start it. It must not retain ctx, which contains the logger. The registry
	// calls New again when it restarts the controller. Runnables that New adds to c run together with the returned
	// controller, or instead of it if New returns nil. If New returns a nil Controller and adds nothing to c, the
	// controller has nothing to do and is skipped.
	//
	// If New is nil, the descriptor describes a controller that a setup function adds. The registry cannot build such a
	// controller again, so OnError has the effect of Fatal. The setup function determines the number of workers.
	New func(ctx context.Context, c *Context) (Controller, error)
}

// Need is a set of permissions for a kind.
type Need struct {
	// Kind is the required kind. If its version is empty, any version suffices.
	Kind schema.GroupVersionKind
	// Verbs are RBAC verbs, such as "list".
	Verbs []string
	// Subresource is the subresource, such as "status". Empty means the object.
	Subresource string
	// Namespace is the namespace of the permissions, if there is only one. Empty means the manager's namespaces, or
	// all.
	Namespace string
	// Optional means that the controller also works without the kind and the permissions.
	Optional bool
}

// maxName is the maximum length of a name.
const maxName = 63

// validateDescriptors returns all mistakes in the descriptors, each with the name of the controller.
func (r *Registry) validateDescriptors() error {
	var errs []error
	owners := map[string]int{} // indexes by name
	for at, d := range r.descriptors {
		if d.Name == "" {
			errs = append(errs, fmt.Errorf("descriptor %d has no name", at))
		} else if first, twice := owners[d.Name]; twice {
			errs = append(errs, fmt.Errorf("controller %s is registered twice, as descriptor %d and %d", d.Name, first, at))
		} else {
			owners[d.Name] = at
		}
		errs = append(errs, d.validate(len(r.setups) > 0, r.gates)...)
	}
	aliases := map[string]string{} // owners of aliases
	for _, d := range r.descriptors {
		for _, alias := range d.Aliases {
			owner, twice := aliases[alias]
			_, isName := owners[alias]
			switch {
			case twice:
				errs = append(errs, fmt.Errorf("controller %s: the alias %q is one of controller %s already", d.title(), alias,
					owner))
			case alias != "" && isName:
				errs = append(errs, fmt.Errorf("controller %s: the alias %q is the name of a controller", d.title(), alias))
			}
			aliases[alias] = d.title()
		}
	}
	return errors.Join(errs...)
}

// validate returns the mistakes that are independent of other descriptors. setups means that the registry has setup
// functions, one of which may add the controller.
func (d *Descriptor) validate(setups bool, gates *FeatureGates) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("controller %s: "+format, append([]any{d.title()}, args...)...))
	}
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 && (name != "" || name != d.Name) {
			wrong("%q cannot be a name: %s", name, strings.Join(problems, "; "))
		}
	}
	if len(d.Name) > maxName {
		wrong("its name is longer than %d letters, which the names of events and metrics may have", maxName)
	}
	if d.New == nil && !setups {
		wrong("it has no constructor")
	}
	if d.New == nil && d.Concurrency != 0 {
		wrong("its concurrency is that of the setup that adds it")
	}
	if d.Concurrency < 0 {
		wrong("its concurrency is %d", d.Concurrency)
	}
	if d.Restart < OnError || d.Restart > Fatal {
		wrong("unknown restart policy %s", d.Restart)
	}
	if d.Election.Off && (d.Election.Group != "" || d.Election.MigratesFrom != "" || d.Election.Lease != "") {
		wrong("it has a leader election group, and runs without election")
	}
	for _, gate := range d.FeatureGates {
		if err := gates.known(gate); err != nil {
			wrong("%w", err)
		}
	}
	for _, need := range d.Needs {
		if need.Kind.Kind == "" {
			wrong("it needs a kind without a name")
		}
		if len(need.Verbs) == 0 || slices.Contains(need.Verbs, "") {
			wrong("it needs %s without verbs", need.Kind.Kind)
		}
	}
	return errs
}

// title returns the name of the descriptor in error messages.
func (d *Descriptor) title() string { return cmp.Or(d.Name, "without a name") }

// hasName reports whether name is the name or an alias of the controller.
func (d *Descriptor) hasName(name string) bool {
	return d.Name == name || slices.Contains(d.Aliases, name)
}
