package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Options configure how a [Registry] launches its controllers. The zero value starts all controllers that are enabled
// by default, without delays and with the credentials of the process. In a program that uses Main, Options are the
// defaults, which flags override.
type Options struct {
	// Version is the version of the program, such as "1.4", which determines the specifications of feature gates. Empty
	// means newer than all versions.
	Version string
	// FeatureGates are the feature gates of the program.
	FeatureGates []FeatureGate
	// Controllers are the controllers to run, in the form of --controllers. Empty means "*".
	Controllers []string
	// StartInterval spreads the starts of controllers over time: each controller waits between one and two intervals. Zero
	// starts all of them at the same time.
	StartInterval time.Duration
	// UseServiceAccountCredentials makes the clients of each controller use a service account with the controller's name,
	// see [Context.Client]. The process needs permission to create serviceaccounts and serviceaccounts/token in the
	// namespace of the service accounts.
	UseServiceAccountCredentials bool
	// ServiceAccountNamespace is the namespace of the service accounts. Empty means the manager's namespace.
	ServiceAccountNamespace string
	// Preflight is how the registry reacts to missing kinds and permissions. Empty means PreflightWarn.
	Preflight Preflight
	// APIServerTimeout is the timeout of the wait for the API server at the start. Zero means 10 s.
	APIServerTimeout time.Duration
}

// Registry holds the controllers of a program. Create one with [New].
type Registry struct {
	opts        Options
	descriptors []Descriptor
	setups      []func(context.Context, controller.Manager) error
	gates       *FeatureGates
	gatesErr    error
	discovered  []string // the controllers of setup functions, after these have been called

	// Set by flags.
	controllers  selection
	migration    *leaderMigration // may be nil
	gateSettings map[string]bool
	emulated     string
	concurrency  map[string]*int // by controller name
}

// New returns a registry without controllers. It does not check opts; [Registry.Validate] does.
func New(opts Options) *Registry {
	r := &Registry{opts: opts, controllers: selection(opts.Controllers), concurrency: map[string]*int{}}
	if len(r.controllers) == 0 {
		r.controllers = selection{"*"}
	}
	r.opts.Preflight = cmp.Or(opts.Preflight, PreflightWarn)
	r.opts.APIServerTimeout = cmp.Or(opts.APIServerTimeout, defaultAPIServerTimeout)
	r.gates, r.gatesErr = newFeatureGates(opts.Version, opts.FeatureGates)
	return r
}

// Register adds controllers. It does not check the descriptors; [Registry.Validate] does.
func (r *Registry) Register(descriptors ...Descriptor) {
	r.descriptors = append(r.descriptors, descriptors...)
}

// RegisterSetup adds the controllers that the function setup adds to a manager. An example of such a function is the
// scaffolded register. --controllers accepts the names of these controllers. The registry does not restart them; a
// failure ends the manager. To give one of them aliases, feature gates or other settings, register a [Descriptor]
// without New. All controllers from builders have the methods Name and Ready; the registry passes a runnable without
// them to the manager unchanged.
func (r *Registry) RegisterSetup(setup func(context.Context, controller.Manager) error) {
	r.setups = append(r.setups, setup)
}

// FeatureGates returns the gates of the program. They have the values of the flags after [Registry.AddTo] has been
// called.
func (r *Registry) FeatureGates() *FeatureGates { return r.gates }

// Validate returns all errors in descriptors and options, such as duplicate or invalid names, aliases that are also
// names, and unknown feature gates. Call it in a unit test; AddTo and Main also validate.
func (r *Registry) Validate() error {
	return errors.Join(r.gatesErr, r.validateDescriptors(), r.checkOptions())
}

// checkOptions returns the errors in the options, which flags may have set.
func (r *Registry) checkOptions() error {
	var errs []error
	if r.opts.StartInterval < 0 {
		errs = append(errs, fmt.Errorf("controller-start-interval: want 0 or more, got %s", r.opts.StartInterval))
	}
	if r.opts.APIServerTimeout < 0 {
		errs = append(errs, fmt.Errorf("api-server-timeout: want 0 or more, got %s", r.opts.APIServerTimeout))
	}
	if !slices.Contains(preflights, r.opts.Preflight) {
		errs = append(errs, fmt.Errorf("unknown preflight %q", r.opts.Preflight))
	}
	return errors.Join(errs...)
}

// known returns the descriptors of all controllers whose names are known.
func (r *Registry) known() []Descriptor {
	all := slices.Clone(r.descriptors)
	for _, name := range r.discovered {
		if !slices.ContainsFunc(all, func(d Descriptor) bool { return d.Name == name }) {
			all = append(all, Descriptor{Name: name})
		}
	}
	return all
}

// Main is the main function of a program with the controllers that setup adds to a manager, and the controllers of
// descriptors. It replaces [manager.Main] in a scaffolded main function:
//
//	os.Exit(registry.Main(manager.Options{
//		LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"},
//	}, register))
func Main[S manager.Setup](defaults manager.Options, setup S, descriptors ...Descriptor) int {
	r := New(Options{})
	switch setup := any(setup).(type) {
	case func(controller.Manager) error:
		r.RegisterSetup(func(_ context.Context, m controller.Manager) error { return setup(m) })
	case func(context.Context, controller.Manager) error:
		r.RegisterSetup(setup)
	}
	r.Register(descriptors...)
	return r.Main(defaults)
}

// Main is the main function of a program with the controllers of r. It is like [manager.Main], and also has the flags
// of the registry. All flags can be set in the environment and the configuration file. --help does not call setup
// functions, so it does not list the controllers of [Registry.RegisterSetup].
func (r *Registry) Main(defaults manager.Options) int {
	program := filepath.Base(os.Args[0])
	if err := r.Validate(); err != nil {
		return usage(program, err)
	}
	own := flag.NewFlagSet(program, flag.ContinueOnError)
	r.BindFlags(own)
	var twice []string
	own.VisitAll(func(f *flag.Flag) {
		if flag.Lookup(f.Name) != nil {
			twice = append(twice, "-"+f.Name)
			return
		}
		flag.Var(f.Value, f.Name, f.Usage)
	})
	if len(twice) > 0 {
		return usage(program, fmt.Errorf("declared by the operator and by the registry: %s; give those of the operator "+
			"other names", strings.Join(twice, ", ")))
	}
	return manager.Main(defaults, func(ctx context.Context, m controller.Manager) error {
		return r.AddTo(ctx, m.(*manager.Manager)) // see manager.Main
	})
}

// usage prints usage errors, one per line and prefixed with the name of the program, and returns the exit code.
func usage(program string, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", program, strings.TrimSuffix(line, "\n"))
	}
	return 2
}

// launch adds a registry to a manager.
type launch struct {
	registry         *Registry
	manager          *manager.Manager
	enabled          selection
	started          *metrics.Gauge
	informersStarted chan struct{}
	special          []*runner // set before any of them runs

	mu       sync.Mutex
	accounts map[string]*http.Client // by name of the service account
	runners  map[string]*runner
	builds   map[string]int    // number of builds by controller
	names    map[string]string // owners of names in logs and metrics
	others   map[string]State  // of controllers that do not run
	missing  []missing         // results of the preflight
}

// AddTo adds the enabled controllers to a manager that has not started. It waits for the API server, checks the needs
// of the controllers, and builds them. If the user can correct an error with flags, it is a [*manager.UsageError].
// After an error, do not run the manager. A manager accepts only one registry.
func (r *Registry) AddTo(ctx context.Context, m *manager.Manager) error {
	_, err := r.launch(ctx, m)
	return err
}

func (r *Registry) launch(ctx context.Context, m *manager.Manager) (*launch, error) {
	if err := errors.Join(r.gatesErr, r.validateDescriptors()); err != nil {
		return nil, err
	}
	if err := r.checkOptions(); err != nil {
		return nil, &manager.UsageError{Err: err}
	}
	l := &launch{
		registry: r, manager: m, informersStarted: make(chan struct{}), accounts: map[string]*http.Client{},
		runners: map[string]*runner{}, others: map[string]State{},
		builds: map[string]int{}, names: map[string]string{},
		started: m.Metrics().Gauge("controller_started", "Whether a controller of the registry runs in this process.",
			"controller"),
	}
	if err := l.decide(); err != nil {
		return nil, &manager.UsageError{Err: err}
	}
	if err := WaitForAPIServer(ctx, m, r.opts.APIServerTimeout); err != nil {
		return nil, err
	}
	descriptors := l.enabledDescriptors()
	if err := l.look(ctx, descriptors); err != nil {
		return nil, err
	}
	if err := l.buildAll(ctx, descriptors); err != nil {
		return nil, err
	}
	return l, l.addAll()
}

// decide applies the feature gates and selects the controllers to run.
func (l *launch) decide() error {
	r := l.registry
	warnings, err := r.gates.apply(r.gateSettings, r.emulated)
	errs := []error{err}
	for _, warning := range warnings {
		l.manager.Logger().Warn(warning)
	}
	for _, d := range r.descriptors {
		if n := r.concurrency[d.Name]; n != nil && *n < 0 {
			errs = append(errs, fmt.Errorf("concurrent-%s-syncs: want 0 or more, got %d", d.Name, *n))
		}
	}
	if r.migration != nil && l.manager.LeaderElectionID() == "" {
		errs = append(errs,
			errors.New("leader-migration-config: the program runs without leader election; set leader-elect too"))
	}
	if len(r.setups) == 0 {
		errs = append(errs, l.resolve())
	} else {
		l.enabled = l.withoutAliases()
	}
	return errors.Join(errs...)
}

// resolve checks the selection against all known names.
func (l *launch) resolve() error {
	resolved, aliases, err := l.registry.controllers.resolve(l.registry.known())
	if err != nil {
		return err
	}
	l.enabled = resolved
	for _, a := range aliases {
		l.manager.Logger().Warn("the name of a controller is an alias, which was its name before", "alias", a.used,
			"controller", a.name)
	}
	return nil
}

// withoutAliases is the variant of resolve for the time before the names of setups are known.
func (l *launch) withoutAliases() selection {
	var s selection
	for _, item := range l.registry.controllers {
		if resolved, _, err := (selection{item}).resolve(l.registry.known()); err == nil {
			item = resolved[0]
		}
		s = append(s, item)
	}
	return s
}

// enabledDescriptors returns the descriptors to build, those with special handling first.
func (l *launch) enabledDescriptors() []Descriptor {
	var special, others []Descriptor
	for _, d := range l.registry.descriptors {
		switch {
		case !l.runs(d):
			l.others[d.Name] = l.whyNot(d.Name)
		case d.SpecialHandling:
			special = append(special, d)
		default:
			others = append(others, d)
		}
	}
	return append(special, others...)
}

func (l *launch) runs(d Descriptor) bool {
	return l.enabled.enabled(d.Name, d.DisabledByDefault) && !l.elsewhere(d.Name) &&
		!slices.ContainsFunc(d.FeatureGates, func(gate string) bool { return !l.registry.gates.Enabled(gate) })
}

// isEnabled reports whether a controller with that name or alias is enabled.
func (l *launch) isEnabled(name string) bool {
	for _, d := range l.registry.descriptors {
		if d.hasName(name) {
			return l.runs(d)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runners[name] != nil
}

// look reports unmet needs, or returns them as an error, depending on Options.Preflight.
func (l *launch) look(ctx context.Context, descriptors []Descriptor) error {
	if l.registry.opts.Preflight == PreflightOff {
		return nil
	}
	l.missing = l.preflight(ctx, descriptors)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var errs []error
	for _, m := range l.missing {
		switch {
		case m.Optional:
			l.manager.Logger().Info("something optional is missing", "controller", m.Controller, "missing", m.Text)
		case l.registry.opts.Preflight == PreflightFail:
			errs = append(errs, fmt.Errorf("controller %s: %s", m.Controller, m.Text))
		default:
			l.manager.Logger().Error("something is missing", "controller", m.Controller, "missing", m.Text)
		}
	}
	return errors.Join(errs...)
}

// buildAll builds the controllers of all descriptors and setups, and returns all errors.
func (l *launch) buildAll(ctx context.Context, descriptors []Descriptor) error {
	var errs []error
	for _, d := range descriptors {
		if d.New == nil {
			continue // a setup builds it
		}
		built, beside, err := l.construct(ctx, d)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("controller %s: %w", d.Name, err))
		case built == nil:
			l.others[d.Name] = Skipped
		default:
			errs = append(errs, l.enlist(d, built, beside))
		}
	}
	for _, setup := range l.registry.setups {
		errs = append(errs, l.collect(ctx, setup))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.checkSetups()
}

// checkSetups returns the errors in the descriptors of controllers that setups add.
func (l *launch) checkSetups() error {
	var errs []error
	found := l.registry.discovered
	for _, d := range l.registry.descriptors {
		if d.New == nil && !slices.Contains(found, d.Name) {
			errs = append(errs, fmt.Errorf("controller %s: it has no constructor, and no setup adds it%s", d.Name,
				didYouMean(d.Name, found)))
		}
		for _, alias := range d.Aliases {
			if slices.Contains(found, alias) {
				errs = append(errs, fmt.Errorf("controller %s: the alias %q is the name of a controller", d.Name, alias))
			}
		}
	}
	return errors.Join(errs...)
}

// described returns the descriptor of a controller that a setup adds.
func (l *launch) described(name string) Descriptor {
	d := Descriptor{Name: name}
	for _, known := range l.registry.descriptors {
		if known.Name == name && known.New == nil {
			d = known
		}
	}
	if d.Restart == OnError {
		d.Restart = Fatal
	}
	return d
}

// enlist creates the runner of a controller, and adds the runnables that run beside it to the manager.
func (l *launch) enlist(d Descriptor, built, beside together) error {
	election, err := l.electionOf(d, built)
	if err != nil {
		return fmt.Errorf("controller %s: %w", d.Name, err)
	}
	r := &runner{
		launch: l, descriptor: d, election: election, begun: make(chan struct{}), current: built, state: Waiting,
	}
	l.mu.Lock()
	_, taken := l.runners[d.Name]
	if !taken {
		l.runners[d.Name] = r
	}
	l.mu.Unlock()
	if taken {
		return fmt.Errorf("there is another controller %q; give one of them another name", d.Name)
	}
	if d.SpecialHandling {
		l.special = append(l.special, r)
	}
	var errs []error
	for n, part := range beside {
		errs = append(errs, l.manager.Add(r.besideIt(n, part)))
	}
	return errors.Join(errs...)
}

// collect builds the controllers of a setup.
func (l *launch) collect(ctx context.Context, setup func(context.Context, controller.Manager) error) error {
	var found []string
	enabled := func(name string) bool {
		found = append(found, name)
		runs := l.runs(l.described(name))
		if !runs {
			l.others[name] = l.whyNot(name)
		}
		return runs
	}
	collected, err := l.manager.Collect(manager.Collection{Enabled: enabled},
		func(m controller.Manager) error { return setup(ctx, m) })
	if err != nil {
		return err
	}
	for _, c := range collected {
		name, isNamed := c.(named)
		if _, ready := c.(readier); !isNamed || !ready {
			err = errors.Join(err, l.manager.Add(c))
			continue
		}
		if !slices.Contains(found, name.Name()) && !enabled(name.Name()) {
			continue // no builder created it; builders check this earlier
		}
		err = errors.Join(err, l.enlist(l.described(name.Name()), together{c}, nil))
	}
	l.registry.discovered = append(l.registry.discovered, found...)
	return err
}

func (l *launch) addAll() error {
	if len(l.registry.setups) > 0 {
		if err := l.resolve(); err != nil {
			return &manager.UsageError{Err: err}
		}
	}
	if err := l.checkMigrating(); err != nil {
		return &manager.UsageError{Err: err}
	}
	errs := []error{l.manager.Add(replicated{"registry", l.attend}),
		l.manager.Handle("/debug/controllers/", http.HandlerFunc(l.debug))}
	for _, name := range slices.Sorted(maps.Keys(l.runners)) {
		r := l.runners[name]
		l.started.Set(0, name)
		errs = append(errs, l.manager.Add(r))
		l.manager.AddHealthz(name, r.healthy)
	}
	l.manager.AddStatus("controllers", func() any { return l.statuses() })
	l.manager.AddStatus("featureGates", func() any { return l.registry.gates.all() })
	l.manager.AddStatus("missing", func() any { return l.missing })
	return errors.Join(errs...)
}

func (l *launch) statuses() []Status {
	var all []Status
	for _, r := range l.runners {
		all = append(all, r.status())
	}
	for name, state := range l.others {
		all = append(all, Status{Name: name, State: state})
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// debug serves /debug/controllers/<name> and all paths below it with the controller's handler, which receives the rest
// of the path. For a controller without a handler, it serves the status of the controller; without a name, it serves
// the status of all controllers.
func (l *launch) debug(w http.ResponseWriter, req *http.Request) {
	const root = "/debug/controllers/"
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, root), "/")
	r := l.runners[name]
	switch {
	case name == "":
		writeJSON(w, l.statuses())
		return
	case r == nil:
		http.Error(w, fmt.Sprintf("no controller %q runs", name), http.StatusNotFound)
		return
	}
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if h := current.debugHandler(); h != nil {
		http.StripPrefix(root+name, h).ServeHTTP(w, req)
		return
	}
	writeJSON(w, r.status())
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client detects errors of the connection
}

// attend runs in every replica, before the controllers. It signals that the manager has started the informers. At the
// end, it closes connections that are not shared.
func (l *launch) attend(ctx context.Context) error {
	close(l.informersStarted)
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, account := range l.accounts {
		utilnet.CloseIdleConnectionsFor(account.Transport)
	}
	return nil
}

// replicated is a runnable of the manager that runs in every replica.
type replicated struct {
	name string
	run  func(ctx context.Context) error
}

func (r replicated) Name() string                  { return r.name }
func (replicated) NeedLeaderElection() bool        { return false }
func (r replicated) Run(ctx context.Context) error { return r.run(ctx) }
