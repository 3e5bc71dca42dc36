package manager

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

// Flags are the flags of an operator. [BindFlags] declares them on a flag set that the caller owns and that may have
// other flags. It is for programs with their own main function:
//
//	flags := manager.BindFlags(flag.CommandLine, manager.Options{
//		LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"},
//	})
//	flag.Parse()
//	opts, err := flags.Options()
//	config, err := flags.Config()
//	m, err := manager.New(config, opts)
//
// Flags are not safe for concurrent use.
type Flags struct {
	options    Options
	set        *flag.FlagSet
	env        lookup
	output     io.Writer // output of the log
	completed  bool
	file       string
	kubeconfig string
	secure     bool // the opposite of the option Metrics.Insecure
	log        log.Options
	unbounded  bool              // by default, the graceful shutdown has no timeout
	own        map[string]bool   // the flags that bind has declared
	settings   map[string]string // content of ServeHTTP; set when the command line is complete
}

// configFlag is the only flag that cannot be set in a configuration file.
const configFlag = "config"

// lookup looks up an environment variable, like os.LookupEnv.
type lookup func(name string) (value string, found bool)

// BindFlags declares the flags of [Main] on set, with the given defaults. Like package flag, it panics if set has a
// flag of the same name. After the command line was parsed, [Flags.Options] returns the options.
func BindFlags(set *flag.FlagSet, defaults Options) *Flags {
	f := &Flags{options: defaults, set: set, env: os.LookupEnv, output: os.Stderr}
	f.bind()
	return f
}

// Options returns the options after the command line was parsed. It sets each flag that is not on the command line,
// including the caller's own flags, from its environment variable or from its field in the file of --config. If the
// defaults have no Logger, Options creates a logger that writes to standard error as configured by --log-level and
// --log-format. Errors contain the flag, the variable, or the position in the file.
func (f *Flags) Options() (Options, error) {
	if !f.completed {
		if err := f.complete(); err != nil {
			return Options{}, err
		}
		f.completed = true
	}
	return f.options, nil
}

// Config returns [LoadConfig] for the value of --kubeconfig.
func (f *Flags) Config() (*rest.Config, error) { return LoadConfig(f.kubeconfig) }

// complete sets flags that are not on the command line from the environment and the configuration file.
func (f *Flags) complete() error {
	prefix := envPrefix(f.options.EnvPrefix, filepath.Base(f.set.Name()))
	given := map[string]bool{}
	f.set.Visit(func(one *flag.Flag) { given[one.Name] = true })
	if f.file == "" && prefix != Off {
		f.file, _ = f.env(envName(prefix, configFlag))
	}
	if f.set.Lookup(configFlag) != nil {
		given[configFlag] = true
	}
	if err := setFromEnv(f.set, f.env, prefix, given); err != nil {
		return err
	}
	if f.file != "" {
		if err := setFromFile(f.set, f.file, given); err != nil {
			return err
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	f.options.Metrics.Insecure = !f.secure
	if f.options.Logger == nil {
		f.log.Output = f.output
		f.options.Logger = log.New(f.log)
	}
	f.settings = f.shown()
	return nil
}

// Shown is a flag.Value that is not a secret, so /configz shows it.
type Shown interface {
	flag.Value
	// Shown does nothing. It marks the type.
	Shown()
}

// shown returns the values of all flags, and replaces possible secrets. Flags of other packages are shown if they are
// booleans, numbers, times or [Shown].
func (f *Flags) shown() map[string]string {
	settings := map[string]string{}
	f.set.VisitAll(func(one *flag.Flag) {
		value := one.Value.String()
		switch {
		case f.own[one.Name] || harmless(one.Value):
		case value == one.DefValue:
			value = "(the default)"
		default:
			value = "(set)"
		}
		settings[one.Name] = value
	})
	return settings
}

func harmless(value flag.Value) bool {
	if _, shown := value.(Shown); shown {
		return true
	}
	getter, ok := value.(flag.Getter)
	if !ok {
		return false
	}
	switch getter.Get().(type) {
	case bool, int, int64, uint, uint64, float64, time.Duration:
		return true
	}
	return false
}

// ServeHTTP writes the effective values of all flags as a JSON object. [Main] serves it at /configz. String values of
// the operator's own flags are replaced, because they may be secrets, unless their type implements [Shown].
func (f *Flags) ServeHTTP(w http.ResponseWriter, _ *http.Request) { writeJSON(w, f.settings) }

// parse parses the command line of a program. own contains flags of the operator, or is nil. With --help, it prints all
// flags and returns flag.ErrHelp.
func parse(program string, args []string, env lookup, defaults Options, stderr io.Writer,
	own *flag.FlagSet) (*Flags, error) {
	set := flag.NewFlagSet(program, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	f := &Flags{options: defaults, set: set, env: env, output: stderr}
	f.bind()
	if err := adopt(set, own); err != nil {
		return nil, err
	}
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printHelp(stderr, set, program, envPrefix(defaults.EnvPrefix, program))
		return nil, err
	case err != nil:
		return nil, err
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	_, err = f.Options()
	return f, err
}

// adopt declares the flags of own on set, and marks own as parsed.
func adopt(set, own *flag.FlagSet) error {
	if own == nil {
		return nil
	}
	var twice []string
	own.VisitAll(func(one *flag.Flag) {
		if set.Lookup(one.Name) != nil {
			twice = append(twice, "-"+one.Name)
			return
		}
		set.Var(one.Value, one.Name, one.Usage)
		set.Lookup(one.Name).DefValue = one.DefValue
	})
	if len(twice) > 0 {
		return fmt.Errorf("declared by the operator and by the manager: %s; give those of the operator other names",
			strings.Join(twice, ", "))
	}
	if own.Parsed() {
		return nil
	}
	return own.Parse(nil)
}

// bind declares all flags. The environment and the configuration file have no further settings.
func (f *Flags) bind() {
	o, flags := &f.options, f.set
	others := map[string]bool{}
	flags.VisitAll(func(one *flag.Flag) { others[one.Name] = true })
	text := func(value *string, name, usage string) { flags.StringVar(value, name, *value, usage) }
	boolean := func(value *bool, name, usage string) { flags.BoolVar(value, name, *value, usage) }
	duration := func(value *time.Duration, name, usage string) { flags.DurationVar(value, name, *value, usage) }
	values := func(values *[]string, name, usage string) { flags.Var(&list{values: values}, name, usage) }

	f.unbounded = o.GracefulShutdownTimeout < 0
	m, w, e := &o.Metrics, &o.Webhook, &o.LeaderElection
	o.HealthProbeBindAddress = cmp.Or(o.HealthProbeBindAddress, ":8081")
	m.BindAddress = cmp.Or(m.BindAddress, Off)
	o.PprofBindAddress = cmp.Or(o.PprofBindAddress, Off)
	o.Controller.MaxConcurrentReconciles = max(1, o.Controller.MaxConcurrentReconciles)
	text(&f.file, configFlag, "`file` with settings in YAML, named as the flags")
	text(&f.kubeconfig, "kubeconfig", "`file` with the address of the API server; without it $KUBECONFIG, the pod's "+
		"service account, or ~/.kube/config")
	text(&o.HealthProbeBindAddress, "health-probe-bind-address", "`address` of /healthz and /readyz; 0 is off")
	text(&m.BindAddress, "metrics-bind-address", "`address` of /metrics, such as :8443; 0 is off")
	f.secure = !m.Insecure
	boolean(&f.secure, "metrics-secure",
		"serve metrics over TLS, to clients that the API server authenticates and authorizes")
	text(&m.CertDir, "metrics-cert-path",
		"`directory` with tls.crt and tls.key; without it a certificate made at start")
	text(&o.PprofBindAddress, "pprof-bind-address",
		"`address` of /debug/pprof, on loopback if only a port is given; 0 is off")
	text(&w.BindAddress, "webhook-bind-address",
		"`address` of the webhooks; without it :9443, or loopback with --webhook-manifests; 0 is off")
	boolean(&w.HTTP2, "enable-http2", "let clients of the webhooks speak HTTP/2")
	text(&w.CertDir, "webhook-cert-path", "`directory` with the tls.crt and tls.key of the webhooks")
	values(&w.Targets, "webhook-targets",
		"comma-separated `objects` that are made to trust a certificate of the manager's own: mutating/NAME, "+
			"validating/NAME, crd/NAME, apiservice/NAME or provider/NAME")
	text(&w.Secret, "webhook-secret", "`name` of the Secret that has this certificate; without it "+defaultWebhookSecret)
	text(&w.SecretNamespace, "webhook-secret-namespace", "`namespace` of this Secret; without it that of the pod")
	duration(&w.CertLifetime, "webhook-cert-lifetime",
		"`time` for which this certificate is valid, of which it is used up to two thirds; 0 is a year")
	values(&w.Manifests, "webhook-manifests",
		"comma-separated `files` and directories with webhook configurations to install while the manager runs, with its "+
			"URL, for development")
	text(&w.URL, "webhook-url",
		"`URL` at which the API server reaches the manager then; without it https://127.0.0.1 and the port")
	boolean(&e.Enabled, "leader-elect", "run controllers only while this process holds the lease")
	text(&e.Namespace, "leader-election-namespace", "`namespace` of the lease; without it that of the pod")
	duration(&e.LeaseDuration, "leader-elect-lease-duration",
		"`time` after which others take the lease of a leader that does not renew it; 0 is 15s")
	duration(&e.RenewDeadline, "leader-elect-renew-deadline",
		"`time` after which a leader stops that cannot renew its lease; 0 is 10s")
	duration(&e.RetryPeriod, "leader-elect-retry-period",
		"`time` between two attempts to get or renew the lease; 0 is 2s")
	values(&o.Namespaces, "namespaces", "comma-separated `namespaces` to watch; without it all")
	flags.IntVar(&o.Controller.MaxConcurrentReconciles, "max-concurrent-reconciles", o.Controller.MaxConcurrentReconciles,
		"`number` of objects that each controller reconciles at once")
	duration(&o.GracefulShutdownTimeout, "graceful-shutdown-timeout",
		"longest `time` from a signal to the end; 0 is 30s")
	duration(&o.Controller.ShutdownTimeout, "controller-shutdown-timeout",
		"longest `time` of it that the controllers may take; 0 means no separate limit")
	duration(&o.MinResyncPeriod, "min-resync-period",
		"`time` after which every object is reconciled again, with up to as much added at random; 0 is never")
	flags.Float64Var(&o.QPS, "kube-api-qps", o.QPS,
		"`number` of requests a second that the process sends to the API server; 0 is no limit")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "`number` of requests that it sends at once, if there is a limit")
	f.log.BindFlags(flags)

	f.own = map[string]bool{}
	flags.VisitAll(func(one *flag.Flag) { f.own[one.Name] = !others[one.Name] })
}

func (f *Flags) check() error {
	if err := checkNamespaces(f.options.Namespaces); err != nil {
		return fmt.Errorf("-namespaces: %w", err)
	}
	switch o := &f.options; {
	case f.log.Format != log.Text && f.log.Format != log.JSON:
		return fmt.Errorf("-log-format: want text or json, got %q", f.log.Format)
	case o.Controller.MaxConcurrentReconciles < 1:
		return fmt.Errorf("-max-concurrent-reconciles: want at least 1, got %d", o.Controller.MaxConcurrentReconciles)
	case o.GracefulShutdownTimeout < 0 && !f.unbounded:
		return fmt.Errorf("-graceful-shutdown-timeout: want 0 or more, got %s", o.GracefulShutdownTimeout)
	case o.Controller.ShutdownTimeout < 0:
		return fmt.Errorf("-controller-shutdown-timeout: want 0 or more, got %s", o.Controller.ShutdownTimeout)
	case o.MinResyncPeriod < 0:
		return fmt.Errorf("-min-resync-period: want 0 or more, got %s", o.MinResyncPeriod)
	case !o.Webhook.validLifetime():
		return fmt.Errorf("-webhook-cert-lifetime: want 0 or at least %s, got %s", minCertLifetime, o.Webhook.CertLifetime)
	case !(o.QPS >= 0): // this includes NaN
		return fmt.Errorf("-kube-api-qps: want 0 or more, got %v", o.QPS)
	case o.Burst < 0:
		return fmt.Errorf("-kube-api-burst: want 0 or more, got %d", o.Burst)
	}
	return nil
}

// list is the value of a flag with several values. The first occurrence replaces the defaults, later ones append.
type list struct {
	values *[]string
	given  bool
}

func (l *list) String() string {
	if l.values == nil {
		return "" // package flag calls it on a zero list
	}
	return strings.Join(*l.values, ",")
}

// Set parses a comma-separated list and trims blanks.
func (l *list) Set(value string) error {
	values := strings.Split(value, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	if slices.Contains(values, "") {
		return errors.New("want values separated by commas")
	}
	if l.given {
		values = append(slices.Clip(*l.values), values...)
	}
	*l.values, l.given = values, true
	return nil
}

func printHelp(w io.Writer, flags *flag.FlagSet, program, prefix string) {
	fmt.Fprintf(w, "Usage of %s:\n", program)
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprintf(w, "A flag such as --log-level is also read from the file of --config, as log-level: debug")
	if prefix != Off {
		fmt.Fprintf(w, ", and over that from the environment, as %s=debug", envName(prefix, "log-level"))
	}
	fmt.Fprintln(w, ".")
}
