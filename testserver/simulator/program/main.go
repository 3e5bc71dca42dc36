package program

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/spf13/pflag"
)

// SimulateMain makes a program on controller-runtime's API simulate itself if the environment variable [Variable] is
// set. main is the main function of the program. The file that kctrl adds to the main package calls SimulateMain in an
// init function, which then does not return.
func SimulateMain(main func()) {
	if os.Getenv(Variable) == "" {
		return
	}
	request := &Request{}
	if err := readRequest(request); err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		os.Exit(1)
	}
	for name, value := range request.Env {
		if err := os.Setenv(name, value); err != nil {
			request.write(Report{Error: err.Error()})
			os.Exit(0)
		}
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	disconnect()
	program := os.Args[0]
	os.Args = os.Args[:1] // package testing parses them
	newFlags := savedFlags(program)
	operator := request.operator()
	operator.SampleNamespace = request.Env["WATCH_NAMESPACE"]
	operator.Main = func() {
		os.Args = append([]string{program}, request.Args...)
		flag.CommandLine, pflag.CommandLine = newFlags()
		main()
	}
	request.runTest(operator)
}

// disconnect makes the resolver and the default HTTP client fail at once. Real responses would depend on the machine,
// and waits for them would stop virtual time.
func disconnect() {
	refuse := func(_ context.Context, network, address string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: a simulation has no network", address)}
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: refuse}
	_, _ = net.LookupHost("localhost") // creates the resolver's state outside any bubble
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.DialContext = refuse
	}
}

// savedFlags returns a function that creates flag sets with the flags that are defined now, before a main function
// runs. Each process gets its own flag sets.
func savedFlags(program string) func() (*flag.FlagSet, *pflag.FlagSet) {
	var short []*flag.Flag
	flag.CommandLine.VisitAll(func(f *flag.Flag) { short = append(short, f) })
	var long []*pflag.Flag
	pflag.CommandLine.VisitAll(func(f *pflag.Flag) { long = append(long, f) })
	return func() (*flag.FlagSet, *pflag.FlagSet) {
		shortSet := flag.NewFlagSet(program, flag.ExitOnError)
		for _, f := range short {
			shortSet.Var(f.Value, f.Name, f.Usage)
		}
		longSet := pflag.NewFlagSet(program, pflag.ExitOnError)
		for _, f := range long {
			longSet.AddFlag(f)
		}
		return shortSet, longSet
	}
}
