package manager

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// settings is what the command line, the environment and the configuration file say: options, and what only matters to a
// program.
type settings struct {
	options    Options
	file       string
	kubeconfig string
	level      slog.Level
	format     string
}

// lookup finds an environment variable, as os.LookupEnv does.
type lookup func(name string) (value string, found bool)

// parseSettings reads, over defaults, the configuration file, over it the environment, and over that the command line.
// With --help it prints the flags to w and returns flag.ErrHelp.
func parseSettings(program string, args []string, env lookup, defaults Options, w io.Writer) (*settings, error) {
	s := &settings{options: defaults}
	flags := s.flagSet(program)
	prefix := envPrefix(defaults.EnvPrefix, program)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printHelp(w, flags, program, prefix)
		return nil, err
	case err != nil:
		return nil, err
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.file == "" {
		s.file, _ = env(envName(prefix, configFlag))
	}
	if s.file != "" {
		if err := setFromFile(flags, s.file); err != nil {
			return nil, err
		}
	}
	if err := setFromEnv(flags, env, prefix); err != nil {
		return nil, err
	}
	if err := flags.Parse(args); err != nil { // once more, over what came before
		return nil, err
	}
	return s, s.check()
}

// flagSet returns all flags, which are all settings: the environment and the file have no others.
func (s *settings) flagSet(program string) *flag.FlagSet {
	o := &s.options
	o.ProbeAddress = cmp.Or(o.ProbeAddress, ":8081")
	o.MetricsAddress = cmp.Or(o.MetricsAddress, Off)
	o.PprofAddress = cmp.Or(o.PprofAddress, Off)
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.file, configFlag, "", "`file` with settings in YAML, named as the flags")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that says where the API server is; without it $KUBECONFIG, the pod's service account, or ~/.kube/config")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", o.ProbeAddress, "`address` of /healthz and /readyz; 0 is off")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "`address` of /metrics, such as :8443; 0 is off")
	flags.Var(insecure{&o.MetricsInsecure}, "metrics-secure", "serve metrics over TLS, to clients that the API server authenticates and authorizes")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-path", o.MetricsCertDir, "`folder` with tls.crt and tls.key; without it a certificate made at start")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", o.PprofAddress, "`address` of /debug/pprof, on loopback if only a port is given; 0 is off")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection, "run controllers only while this process holds the lease")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace, "`namespace` of the lease; without it that of the pod")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration, "`time` after which others take the lease of a leader that does not renew it; 0 is 15s")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline, "`time` after which a leader stops that cannot renew its lease; 0 is 10s")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "`time` between two attempts to get or renew the lease; 0 is 2s")
	flags.Var((*namespaceList)(&o.Namespaces), "namespaces", "comma-separated `namespaces` to watch; without it all")
	flags.IntVar(&o.MaxConcurrentReconciles, "max-concurrent-reconciles", max(1, o.MaxConcurrentReconciles), "`number` of objects that each controller reconciles at once")
	flags.DurationVar(&o.GracefulShutdownTimeout, "graceful-shutdown-timeout", o.GracefulShutdownTimeout, "longest `time` from a signal to the end; 0 is 30s")
	flags.TextVar(&s.level, "log-level", slog.LevelInfo, "`level` of the log: debug, info, warn or error")
	flags.StringVar(&s.format, "log-format", formatText, "`format` of the log: text or json")
	return flags
}

// check returns what is wrong with settings that are each of their type.
func (s *settings) check() error {
	switch o := &s.options; {
	case s.format != formatText && s.format != formatJSON:
		return fmt.Errorf("-log-format: want text or json, got %q", s.format)
	case o.MaxConcurrentReconciles < 1:
		return fmt.Errorf("-max-concurrent-reconciles: want at least 1, got %d", o.MaxConcurrentReconciles)
	case o.GracefulShutdownTimeout < 0:
		return fmt.Errorf("-graceful-shutdown-timeout: want 0 or more, got %s", o.GracefulShutdownTimeout)
	}
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

const (
	formatText = "text"
	formatJSON = "json"
)

// insecure is the value of --metrics-secure, which says the opposite of the option.
type insecure struct{ insecure *bool }

// String returns the value as it is written on the command line, and of the zero value, which is none, nothing.
func (i insecure) String() string {
	if i.insecure == nil {
		return ""
	}
	return strconv.FormatBool(!*i.insecure)
}

// Set reads a boolean.
func (i insecure) Set(value string) error {
	secure, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("parse error")
	}
	*i.insecure = !secure
	return nil
}

// IsBoolFlag lets the flag go without a value.
func (insecure) IsBoolFlag() bool { return true }

// namespaceList is the value of --namespaces.
type namespaceList []string

// String returns the namespaces as they are written on the command line.
func (l *namespaceList) String() string { return strings.Join(*l, ",") }

// Set reads a comma-separated list.
func (l *namespaceList) Set(value string) error {
	names := strings.Split(value, ",")
	if slices.Contains(names, "") {
		return errors.New("want namespaces separated by commas")
	}
	*l = names
	return nil
}

// newLogger returns the logger that the command line asks for.
func (s *settings) newLogger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: s.level}
	if s.format == formatJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
