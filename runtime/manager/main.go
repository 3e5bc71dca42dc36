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

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Setup is a function that [Main] calls to add controllers to a manager. Its context ends with the first signal.
type Setup interface {
	func(controller.Manager) error | func(context.Context, controller.Manager) error
}

// Main is the main function of an operator. It parses the flags, whose default values are defaults, loads the
// kubeconfig, calls setup to add controllers, and runs the manager until SIGINT or SIGTERM, which starts a graceful
// shutdown. A second signal ends the process immediately. The flag --help lists all flags. Main writes the log to
// standard error, and returns the exit code.
//
// Before it calls setup, Main also parses the flags that the operator has declared on flag.CommandLine. It fails if one
// of them has the name of a flag of Main.
//
// Each flag can also be set by an environment variable, whose prefix is the name of the program (see
// Options.EnvPrefix), or by a field in the file of --config. The command line overrides the environment, the
// environment overrides the file, and the file overrides defaults.
//
// The manager that setup receives is a *Manager. To add clusters, setup must assert that type.
//
// Main calls [LimitMemory], and runs [TrimMemory]. A program with its own main function can call these two,
// [BindFlags], [SignalContext] and [New] instead.
func Main[S Setup](defaults Options, setup S) int {
	if instead != nil {
		return instead(defaults, withContext(setup))
	}
	ctx, cancel := SignalContext(context.Background())
	defer cancel()
	return run(ctx, filepath.Base(os.Args[0]), os.Args[1:], os.Stderr, defaults, flag.CommandLine, withContext(setup))
}

// instead is called by Main if it is not nil, see [SetMain].
var instead func(Options, func(context.Context, controller.Manager) error) int

// SetMain makes [Main] only call main with its arguments and return the result. It is for programs that test a complete
// operator, such as that of kctrl sim. Call it in an init function.
func SetMain(main func(defaults Options, setup func(context.Context, controller.Manager) error) int) {
	instead = main
}

// withContext converts setup to a function with a context argument.
func withContext[S Setup](setup S) func(context.Context, controller.Manager) error {
	switch setup := any(setup).(type) {
	case func(controller.Manager) error:
		return func(_ context.Context, m controller.Manager) error { return setup(m) }
	case func(context.Context, controller.Manager) error:
		return setup
	}
	panic("manager: invalid type of Setup")
}

// SignalContext returns a context that ends when parent ends, or at the first SIGINT or SIGTERM. After that, signals
// have their default effect, so a second signal ends the process. cancel ends the context and releases its resources.
func SignalContext(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with ctx
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before other goroutines can see that ctx has ended
		cancel()
	}()
	return ctx, cancel
}

// run implements Main without access to the state of the process.
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
		fmt.Fprintf(stderr, "%s: cannot find the API server: %v\n", program, err)
		if errors.Is(err, errNoServer) {
			fmt.Fprintln(stderr, "hint: give --kubeconfig or set KUBECONFIG, such as to the output of "+
				"kctrl env kubeconfig --path")
		}
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

// UsageError is the error that a setup function returns for an invalid command line, environment variable or
// configuration file. Main then prints each line of the error and the hint, and returns 2.
type UsageError struct {
	Err  error
	Hint string // empty means the hint to run the program with --help
}

// Error returns the message of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

func printUsageError(w io.Writer, program string, usage *UsageError) {
	for line := range strings.Lines(usage.Error()) {
		fmt.Fprintf(w, "%s: %s\n", program, strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintf(w, "hint: %s\n", cmp.Or(usage.Hint, program+" --help lists the flags"))
}
