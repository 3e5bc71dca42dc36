package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/simulate"
)

type chaosOptions struct {
	simFlags
	simulate.ChaosOptions
	env string
}

func newChaosCommand(s *streams) *cobra.Command {
	o := chaosOptions{simFlags: simFlags{name: "chaos"}}
	cmd := &cobra.Command{
		Use:   "chaos [flags] -- PROGRAM [ARGUMENT...]",
		Short: "Test any operator binary with injected faults",
		Long: `Run an operator's program against planned faults, in real time. The program can use any language
and library: a proxy in front of an API server injects the faults, and a simulated crash kills the
process. Plans, rules and output are the same as in kctrl sim, which is much faster for operators on
kctrl's runtime.

The environment variable KUBECONFIG has the path of a kubeconfig for the proxy. In arguments, kctrl
replaces ` + "`{kubeconfig}`" + ` with that path. Disable leader election, so that the next process starts its
work at once. Disable webhooks, because the API server does not call them. With --parallel, also
disable servers with fixed ports.

Each plan starts its own in-memory API server. With --env, all plans run one after another on the
server of kctrl env up, and kctrl deletes the objects that they create, also after an interrupt. The
samples must not exist on that server.

The exit code is 1 if a plan fails. kctrl reports a failure only if it happens twice.`,
		Example: `  kctrl chaos -- bin/manager --leader-elect=false --metrics-bind-address=0
  kctrl chaos --config deploy --samples deploy/sample.yaml -- ./operator -kubeconfig {kubeconfig}
  kctrl chaos --replay bin/chaos/1.yaml -- bin/manager --leader-elect=false`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args = args
			return runChaos(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	o.addTo(flags, &o.Options)
	flags.StringVar(&o.env, "env", "", "use the server of the environment with this `name`; see kctrl env up")
	flags.DurationVar(&o.Quiet, "quiet", 2*time.Second, "`time` without requests after which the operator is at rest")
	flags.DurationVar(&o.Longest, "longest", time.Minute, "maximum `time` until the operator comes to rest")
	flags.IntVar(&o.Parallel, "parallel", 1, "number `N` of plans that run at a time")
	return cmd
}

func runChaos(ctx context.Context, s *streams, o chaosOptions) error {
	switch {
	case len(o.Args) == 0:
		return usageError("no program: write it after --, such as kctrl chaos -- bin/manager")
	case o.Parallel < 1:
		return usageError("--parallel: want at least 1")
	case o.Quiet <= 0 || o.Longest <= o.Quiet:
		return usageError("--quiet and --longest: want 0 < quiet < longest")
	case o.env != "" && o.Parallel > 1:
		return usageError("--env: plans on one server run one after another; remove --parallel")
	}
	dir, err := o.prepare(s, &o.Options)
	if err != nil {
		return err
	}
	if o.env != "" {
		if o.Kubeconfig, o.Controlled, err = chaosServer(ctx, s, o.env); err != nil {
			return err
		}
	}
	progress := progress(s)
	report, err := simulate.Chaos(ctx, dir, o.ChaosOptions, progress, plansProgress(progress))
	if err != nil {
		return err
	}
	return o.print(s, dir, report)
}
