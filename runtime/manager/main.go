package manager

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// Exit codes of Main.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Setup is a function that adds controllers to a manager in [Main]. Its context ends with the first signal.
type Setup interface {
	func(controller.Manager) error | func(context.Context, controller.Manager) error
}

// Main is the main function of an operator. It parses the flags (--help lists them; defaults are their defaults), finds
// the API server, calls setup to add controllers, and runs the manager until SIGINT or SIGTERM, which starts a graceful
// shutdown. A second signal ends the process at once. The log is written to standard error. Main returns the exit code.
//
// Main also parses the flags that the operator has declared on flag.CommandLine, before it calls setup. A name that
// Main uses is an error.
//
// Each flag is also an environment variable, prefixed with the name of the program (see Options.EnvPrefix), and a field
// of the file of --config. A flag overrides the variable, which overrides the field, which overrides defaults.
//
// The manager that setup receives is a *Manager. A setup that adds clusters or pages asserts that type.
//
// Main limits and trims the memory, see [LimitMemory] and [TrimMemory].
//
// A program with its own main can call [BindFlags], [LimitMemory], [SignalContext], [New] and TrimMemory instead.
func Main[S Setup](defaults Options, setup S) int {
	if instead != nil {
		return instead(defaults, withContext(setup))
	}
	ctx, cancel := SignalContext(context.Background())
	defer cancel()
	return run(ctx, filepath.Base(os.Args[0]), os.Args[1:], os.Stderr, defaults, flag.CommandLine, withContext(setup))
}

// instead replaces Main, see [SetMain].
var instead func(Options, func(context.Context, controller.Manager) error) int

// SetMain makes [Main] call main with its arguments, and return the result, without anything else. It is for programs
// that test an operator as a whole, such as the one that kctrl sim compiles. Call it before main begins, in an init
// function.
func SetMain(main func(defaults Options, setup func(context.Context, controller.Manager) error) int) {
	instead = main
}

// withContext adapts setup to a function with a context.
func withContext[S Setup](setup S) func(context.Context, controller.Manager) error {
	switch setup := any(setup).(type) {
	case func(controller.Manager) error:
		return func(_ context.Context, m controller.Manager) error { return setup(m) }
	case func(context.Context, controller.Manager) error:
		return setup
	}
	panic("manager: invalid type of Setup")
}

// SignalContext returns a context that ends with parent and with the first SIGINT or SIGTERM. After that, signals have
// their default effect, so that a second one ends the process. cancel releases the resources.
func SignalContext(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with ctx
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before the end of ctx is visible
		cancel()
	}()
	return ctx, cancel
}

// run is Main without access to the process.
func run(
	ctx context.Context, program string, args []string, stderr io.Writer, defaults Options, own *flag.FlagSet,
	setup func(context.Context, controller.Manager) error,
) int {
	flags, err := parse(program, args, os.LookupEnv, defaults, stderr, own)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\nhint: %s --help lists the flags\n", program, err, program)
		return exitUsage
	}
	config, err := flags.Config()
	if err != nil {
		fmt.Fprintf(stderr, "%s: cannot find the API server: %v\n%s", program, err, configHint(err))
		return exitError
	}
	config.UserAgent = program
	logger := flags.options.Logger
	LimitMemory(logger)
	m, err := New(config, flags.options)
	if err == nil {
		err = errors.Join(m.Add(TrimMemory()), m.Handle("/configz", flags))
	}
	if err == nil {
		err = setup(ctx, m)
	}
	if err == nil {
		err = m.Run(ctx)
	}
	if usage, ok := errors.AsType[*UsageError](err); ok {
		printUsageError(stderr, program, usage)
		return exitUsage
	}
	if err != nil {
		logger.Error("the manager ended", "err", err)
		return exitError
	}
	return exitOK
}

// UsageError is the error of a setup function for an invalid command line or its equivalent: Main prints each line of
// the error and the hint, and returns 2.
type UsageError struct {
	Err  error
	Hint string // empty means the hint how to list the flags
}

// Error is that of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

func printUsageError(w io.Writer, program string, usage *UsageError) {
	for line := range strings.Lines(usage.Error()) {
		fmt.Fprintf(w, "%s: %s\n", program, strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintf(w, "hint: %s\n", cmp.Or(usage.Hint, program+" --help lists the flags"))
}

func configHint(err error) string {
	if errors.Is(err, errNoServer) {
		return "hint: give --kubeconfig or set KUBECONFIG, such as to the output of kctrl env kubeconfig --path\n"
	}
	return ""
}
