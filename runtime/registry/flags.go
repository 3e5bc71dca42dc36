package registry

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// BindFlags declares the flags of the registry on set: --controllers, --feature-gates, --concurrent-<name>-syncs and
// others. As in kube-controller-manager, the first two may be repeated: the values are joined. The defaults are the
// options of the registry. Register all descriptors before this call. Like package flag, BindFlags panics if set has a
// flag of the same name. [Registry.AddTo] reports errors that depend on several flags. [manager.BindFlags] declares the
// manager's flags.
func (r *Registry) BindFlags(set *flag.FlagSet) {
	set.Var(&text{value: strings.Join(r.controllers, ","), set: r.setControllers, adds: true}, "controllers",
		describe(r.known(), len(r.setups) > 0))
	setGates := func(value string) (err error) {
		r.gateSettings, err = r.gates.parseGates(value)
		return oneLine(err)
	}
	set.Var(&text{set: setGates, adds: true}, "feature-gates", r.gates.describe())
	set.Var(textOf(&r.emulated), "emulated-version",
		"`version` of the program whose feature gates count; without it that of the program")
	set.Var(&text{set: r.setLeaderMigration}, "leader-migration-config",
		"`file` with the controllers that move from or to another program, a LeaderMigrationConfiguration as "+
			"kube-controller-manager reads it")
	set.DurationVar(&r.opts.StartInterval, "controller-start-interval", r.opts.StartInterval,
		"`time` from one to two times of which each controller waits before it starts")
	set.BoolVar(&r.opts.UseServiceAccountCredentials, "use-service-account-credentials",
		r.opts.UseServiceAccountCredentials,
		"give each controller the credentials of a service account of its own name")
	set.Var(textOf(&r.opts.ServiceAccountNamespace), "service-account-namespace",
		"`namespace` of these service accounts; without it that of the pod")
	set.Var(&text{value: string(r.opts.Preflight), set: r.setPreflight}, "preflight",
		"`action` for missing kinds and permissions: warn, fail, or off, which does not look")
	set.DurationVar(&r.opts.APIServerTimeout, "api-server-timeout", r.opts.APIServerTimeout,
		"`time` for which the API server is waited for at the start")
	for _, d := range r.descriptors {
		// otherwise Validate reports the name
		if name := "concurrent-" + d.Name + "-syncs"; d.New != nil && set.Lookup(name) == nil {
			n := d.Concurrency
			r.concurrency[d.Name] = &n
			set.IntVar(&n, name, n, "`number` of objects that "+d.Name+
				" reconciles at once; 0 is that of --max-concurrent-reconciles")
		}
	}
}

// text is the value of a flag that is checked when it is set, and is not a secret.
type text struct {
	value string // all values that were set
	set   func(string) error
	adds  bool // values are added to earlier ones
	given bool // the flag was set
}

// textOf returns a value that is stored in a variable without a check.
func textOf(s *string) *text {
	return &text{value: *s, set: func(value string) error {
		*s = value
		return nil
	}}
}

func (t *text) String() string { return t.value }

func (t *text) Set(value string) error {
	if t.adds && t.given {
		value = t.value + "," + value
	}
	if err := t.set(value); err != nil {
		return err
	}
	t.value, t.given = value, true
	return nil
}

// Shown marks the value for /configz.
func (*text) Shown() {}

// setControllers checks the names immediately if all names are known, so that the error has the position of the
// mistake.
func (r *Registry) setControllers(value string) error {
	s, err := parseSelection(value)
	if err != nil {
		return err
	}
	if len(r.setups) == 0 {
		if _, _, err := s.resolve(r.known()); err != nil {
			return oneLine(err)
		}
	}
	r.controllers = s
	return nil
}

func (r *Registry) setLeaderMigration(path string) (err error) {
	r.migration, err = loadLeaderMigration(path)
	return oneLine(err)
}

func (r *Registry) setPreflight(value string) error {
	if !slices.Contains(preflights, Preflight(value)) {
		return fmt.Errorf("want warn, fail, off, got %q", value)
	}
	r.opts.Preflight = Preflight(value)
	return nil
}

// oneLine returns err as one line, as errors of flags require.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
