package manager

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// settings is what the command line says: options, and what only matters to a program.
type settings struct {
	options    Options
	kubeconfig string
	level      slog.Level
	format     string
}

// parseFlags reads the command line over defaults. With --help it prints the flags to w and returns flag.ErrHelp.
func parseFlags(program string, args []string, defaults Options, w io.Writer) (settings, error) {
	s := settings{options: defaults, format: formatText}
	o := &s.options
	if o.ProbeAddress == "" {
		o.ProbeAddress = ":8081"
	}
	if o.MetricsAddress == "" {
		o.MetricsAddress = Off
	}
	secure := !o.MetricsInsecure
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that says where the API server is; without it $KUBECONFIG, the pod's service account, or ~/.kube/config")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", o.ProbeAddress, "`address` of /healthz and /readyz; 0 is off")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "`address` of /metrics, such as :8443; 0 is off")
	flags.BoolVar(&secure, "metrics-secure", secure, "serve metrics over TLS, to clients that the API server authenticates and authorizes")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-path", o.MetricsCertDir, "`folder` with tls.crt and tls.key; without it a certificate made at start")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection, "run controllers only while this process holds the lease")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace, "`namespace` of the lease; without it that of the pod")
	flags.Var((*namespaceList)(&o.Namespaces), "namespaces", "comma-separated `namespaces` to watch; without it all")
	flags.IntVar(&o.MaxConcurrentReconciles, "max-concurrent-reconciles", max(1, o.MaxConcurrentReconciles), "`number` of objects that each controller reconciles at once")
	flags.DurationVar(&o.GracefulShutdownTimeout, "graceful-shutdown-timeout", o.GracefulShutdownTimeout, "longest `time` from a signal to the end; 0 is 30s")
	flags.TextVar(&s.level, "log-level", slog.LevelInfo, "`level` of the log: debug, info, warn or error")
	flags.StringVar(&s.format, "log-format", s.format, "`format` of the log: text or json")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(w, "Usage of %s:\n", program)
		flags.SetOutput(w)
		flags.PrintDefaults()
		return s, err
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.format != formatText && s.format != formatJSON:
		return s, fmt.Errorf("-log-format: want text or json, got %q", s.format)
	case o.MaxConcurrentReconciles < 1:
		return s, fmt.Errorf("-max-concurrent-reconciles: want at least 1, got %d", o.MaxConcurrentReconciles)
	case o.GracefulShutdownTimeout < 0:
		return s, fmt.Errorf("-graceful-shutdown-timeout: want 0 or more, got %s", o.GracefulShutdownTimeout)
	}
	o.MetricsInsecure = !secure
	return s, nil
}

const (
	formatText = "text"
	formatJSON = "json"
)

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
