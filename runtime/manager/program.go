package manager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
)

// The exit codes of Main.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Main is the main function of an operator: it reads the flags (--help lists them, defaults are their defaults), finds
// the API server, lets setup add controllers, and runs the manager until SIGINT or SIGTERM, which lets it end in good
// order. A second signal ends the process at once. The log goes to standard error. Main returns the exit code.
//
// Each flag is also an environment variable, with the name of the program before it (see Options.EnvPrefix), and a field
// of the file of --config. A flag stands over the variable, that over the field, and all over defaults.
//
// The garbage collector is told to keep to nine tenths of the memory that the control group of the process may have,
// unless $GOMEMLIMIT says otherwise. Once little is going on it gives memory that a busy time took back to the system.
func Main(defaults Options, setup func(*Manager) error) int {
	ctx, cancel := untilSignal()
	defer cancel()
	return run(ctx, filepath.Base(os.Args[0]), os.Args[1:], os.Stderr, defaults, setup)
}

// untilSignal returns a context that ends with the first signal. From then on signals do what they do to any process.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with ctx
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before anything can see the end of ctx
		cancel()
	}()
	return ctx, cancel
}

// run is Main without a process.
func run(ctx context.Context, program string, args []string, stderr io.Writer, defaults Options, setup func(*Manager) error) int {
	s, err := parseSettings(program, args, os.LookupEnv, defaults, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\nhint: %s --help lists the flags\n", program, err, program)
		return exitUsage
	}
	config, err := loadConfig(s.kubeconfig)
	if err != nil {
		fmt.Fprintf(stderr, "%s: cannot find the API server: %v\n%s", program, err, configHint(err))
		return exitError
	}
	config.UserAgent = program
	if s.options.Logger == nil {
		s.options.Logger = s.newLogger(stderr)
	}
	limitMemory(os.DirFS("/"), os.LookupEnv, debug.SetMemoryLimit, s.options.Logger)
	m, err := New(config, s.options)
	if err == nil {
		err = m.Add(newTrimmer())
	}
	if err == nil {
		err = setup(m)
	}
	if err == nil {
		err = m.Run(ctx)
	}
	if err != nil {
		s.options.Logger.Error("the manager ended", "err", err)
		return exitError
	}
	return exitOK
}

func configHint(err error) string {
	if errors.Is(err, errNoServer) {
		return "hint: give --kubeconfig or set KUBECONFIG, such as to the output of kctrl env kubeconfig --path\n"
	}
	return ""
}
