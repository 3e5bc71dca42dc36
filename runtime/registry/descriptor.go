package registry

import (
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

// Controller is run by a registry. Optional methods are called while it runs: Ready() error for /readyz,
// Healthy(*http.Request) error for /healthz, and DebugHandler() http.Handler for /debug/controllers/<name>.
type Controller interface {
	// Run runs the controller until ctx ends, and returns after its last goroutine has ended. An earlier error is a
	// failure, see [RestartPolicy].
	Run(ctx context.Context) error
}

// Optional interfaces of a Controller.
type (
	readier   interface{ Ready() error }
	healthier interface{ Healthy(r *http.Request) error }
	debugged  interface{ DebugHandler() http.Handler }
	named     interface{ Name() string }
)

// RestartPolicy decides what to do after a failure of a controller: an error or a panic before it was stopped.
type RestartPolicy int

const (
	// OnError builds and runs it again after a delay, which doubles with each failure from 1 s to 5 min, and returns to
	// 1 s after it has run for 10 min.
	OnError RestartPolicy = iota
	// Never does not restart it. /readyz reports the failure.
	Never
	// Fatal ends the manager with its error.
	Fatal
)

// String returns the name.
func (p RestartPolicy) String() string {
	switch p {
	case OnError:
		return "OnError"
	case Never:
		return "Never"
	case Fatal:
		return "Fatal"
	}
	return fmt.Sprintf("RestartPolicy(%d)", int(p))
}

// Descriptor describes a controller. Name is required, and so is New unless a setup adds the controller, see
// [Registry.RegisterSetup].
type Descriptor struct {
	// Name identifies the controller in flags, logs, metrics and on the API server, such as "guestbook-controller". It
	// is a DNS name.
	Name string
	// Aliases are former names. They are still accepted, with a warning, so never remove one.
	Aliases []string
	// FeatureGates must all be enabled for the controller to run.
	FeatureGates []string
	// DisabledByDefault prevents it from running unless --controllers names it; * does not suffice.
	DisabledByDefault bool
	// SpecialHandling builds the controller before all others, and starts it before the others of its leader election
	// group, or before all if it runs without election. It is for controllers on which the start of others depends.
	SpecialHandling bool
	// Needs are its permissions on the API server, which are checked before anything starts.
	Needs []Need
	// Election decides which process runs it. The zero value means the election of the controller that New returns, if
	// any, and otherwise the group of the manager.
	Election controller.Election
	// Restart decides what to do after a failure.
	Restart RestartPolicy
	// Concurrency is the default of --concurrent-<name>-syncs. Zero means the manager's.
	Concurrency int
	// New builds the controller without starting it, and does not retain ctx, which has the logger. It is called again
	// when the controller is restarted. If New returns a nil Controller and added nothing to c, the controller has
	// nothing to do and is skipped. Runnables that were added to c run together with the returned controller, or
	// instead of it if that is nil.
	//
	// A nil New describes a controller that a setup adds. It is not rebuilt: OnError then acts like Fatal, and the
	// setup decides its concurrency.
	New func(ctx context.Context, c *Context) (Controller, error)
}

// Need is a set of permissions for a kind.
type Need struct {
	// Kind is looked up in its version, or in any if the version is empty.
	Kind schema.GroupVersionKind
	// Verbs are RBAC verbs, such as "list".
	Verbs []string
	// Subresource is the subresource, such as "status". Empty means the object.
	Subresource string
	// Namespace is the namespace of the permissions, if there is only one. Empty means the manager's namespaces, or
	// all.
	Namespace string
	// Optional means that the controller works without it.
	Optional bool
}

// maxName is the maximum length of a name.
const maxName = 63

// validate returns every mistake in the descriptors, each with the name of the controller.
func validate(all []Descriptor, setups bool, gates *FeatureGates) error {
	var errs []error
	owners := map[string]int{} // indexes by name
	for at, d := range all {
		if d.Name == "" {
			errs = append(errs, fmt.Errorf("descriptor %d has no name", at))
		} else if first, twice := owners[d.Name]; twice {
			errs = append(errs, fmt.Errorf("controller %s is registered twice, as descriptor %d and %d", d.Name, first, at))
		} else {
			owners[d.Name] = at
		}
		errs = append(errs, d.validate(setups, gates)...)
	}
	aliases := map[string]string{} // owners of aliases
	for _, d := range all {
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

// validate returns the mistakes that are independent of other descriptors. With setups, one of these may add the
// controller.
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
func (d *Descriptor) title() string {
	if d.Name == "" {
		return "without a name"
	}
	return d.Name
}
