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

// Controller is what a registry runs. One that has a method Ready() error is part of /readyz while it runs, one with
// Healthy(*http.Request) error of /healthz, and one with DebugHandler() http.Handler is served at /debug/controllers/<name>.
type Controller interface {
	// Run runs the controller until ctx ends, and returns after its last goroutine has ended. An error before that is a
	// failure, see [RestartPolicy].
	Run(ctx context.Context) error
}

// What a Controller may have besides Run.
type (
	readier   interface{ Ready() error }
	healthier interface{ Healthy(r *http.Request) error }
	debugged  interface{ DebugHandler() http.Handler }
	named     interface{ Name() string }
)

// RestartPolicy says what becomes of a controller that has failed: that has returned an error, or panicked, before it was
// stopped.
type RestartPolicy int

const (
	// OnError builds it again and runs that, after a time that doubles with each failure from 1 s to 5 min, and is 1 s again
	// after it has run for 10 min.
	OnError RestartPolicy = iota
	// Never leaves it alone. /readyz says that it has failed.
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

// Descriptor describes a controller. Name must be set, and New unless a setup adds the controller, see [Registry.RegisterSetup].
type Descriptor struct {
	// Name is what flags, logs, metrics and the API server know it by, such as "guestbook-controller": a DNS name.
	Name string
	// Aliases are names that it had before. They are still understood, with a warning, so none is ever taken away.
	Aliases []string
	// FeatureGates must all be on for it to run.
	FeatureGates []string
	// DisabledByDefault keeps it from running unless --controllers names it: * does not.
	DisabledByDefault bool
	// SpecialHandling builds it before all others, and starts it before those of its leader election group, and before all
	// if it runs without election: for what the others need to come up at all.
	SpecialHandling bool
	// Needs are what it does to the API server, which is looked at before anything starts.
	Needs []Need
	// Election says in which process it runs. The zero value is the election of what New returns, if that has one, and
	// else the group of the manager.
	Election controller.Election
	// Restart says what becomes of it when it fails.
	Restart RestartPolicy
	// Concurrency is the default of --concurrent-<name>-syncs. Zero is that of the manager.
	Concurrency int
	// New builds it. It starts nothing, and does not keep ctx, which has the logger. It is called again when the controller
	// is restarted. A nil Controller, if nothing was added to c either, is one that has nothing to do, and is skipped. What was
	// added to c runs with the one that is returned; if that is nil, instead of it.
	//
	// Nil describes the controller of that name that a setup adds. That is not built again: OnError is then as Fatal, and its
	// concurrency is what the setup says.
	New func(ctx context.Context, c *Context) (Controller, error)
}

// Need is something that a controller does to objects of a kind.
type Need struct {
	// Kind is looked for in the version that it has, or in any if that is empty.
	Kind schema.GroupVersionKind
	// Verbs are those of RBAC, such as "list".
	Verbs []string
	// Subresource is what of the object it is done to, such as "status". Empty is the object.
	Subresource string
	// Namespace is where, if it is in one namespace alone. Empty is those of the manager, or everywhere.
	Namespace string
	// Optional is what the controller can do without.
	Optional bool
}

// maxName is how long a name may be.
const maxName = 63

// validate returns every mistake in the descriptors, each with the name of the controller.
func validate(all []Descriptor, setups bool, gates *FeatureGates) error {
	var errs []error
	owners := map[string]int{} // of names, by place
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
	aliases := map[string]string{} // whose they are
	for _, d := range all {
		for _, alias := range d.Aliases {
			owner, twice := aliases[alias]
			_, isName := owners[alias]
			switch {
			case twice:
				errs = append(errs, fmt.Errorf("controller %s: the alias %q is one of controller %s already", d.title(), alias, owner))
			case alias != "" && isName:
				errs = append(errs, fmt.Errorf("controller %s: the alias %q is the name of a controller", d.title(), alias))
			}
			aliases[alias] = d.title()
		}
	}
	return errors.Join(errs...)
}

// validate returns the mistakes that can be seen without the others. With setups, one of these may add the controller.
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
			wrong("it needs %s, and does not say which verbs", need.Kind.Kind)
		}
	}
	return errs
}

// title is how mistakes call it.
func (d *Descriptor) title() string {
	if d.Name == "" {
		return "without a name"
	}
	return d.Name
}
