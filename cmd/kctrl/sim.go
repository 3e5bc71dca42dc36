package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/simulate"
)

// simFlags are the flags of sim and chaos.
type simFlags struct {
	replay string
	output outputFormat
	budget time.Duration // set by prepare
	name   string        // name of the command, and of the directory in bin that contains its plans
}

// groups returns the kinds of faults that the command can inject. kctrl chaos does not control the program's leader
// election, calls no webhooks, and cannot change the clock.
func (f *simFlags) groups() []string {
	if f.name == "chaos" {
		return slices.DeleteFunc(slices.Clone(simGroups), func(group string) bool {
			return group == "leader" || group == "clock" || group == "webhook"
		})
	}
	return simGroups
}

// addTo adds the flags of f and o to flags.
func (f *simFlags) addTo(flags *pflag.FlagSet, o *simulate.Options) {
	flags.IntVar(&o.Plans, "plans", 0, "maximum number `N` of plans; 0 runs all plans")
	flags.DurationVar(&o.Budget, "budget", 0, "start no plan after this `time`, such as 30s; 0 means no limit")
	flags.StringSliceVar(&o.Only, "only", nil, "inject only these `kinds` of faults: "+strings.Join(f.groups(), ", "))
	flags.StringSliceVar(&o.Disabled, "disable", nil, "skip the `rules` with these names")
	flags.StringVar(&f.replay, "replay", "", "run only the plan in this `file`")
	flags.StringVar(&o.Config, "config", "", "`path` of the operator's CRDs and roles (default config/default)")
	flags.StringVar(&o.Samples, "samples", "", "`path` of the objects of the operator's user (default config/samples)")
	flags.StringVar(&o.Namespace, "namespace", "", "`namespace` of the operator (default the namespace of its Deployment)")
	flags.BoolVar(&o.AsAdmin, "as-admin", false,
		"send the operator's requests with all permissions, not as its service account")
	addOutputFlag(flags, &f.output, outputText, outputJSON, outputJUnit, outputHTML)
}

// prepare checks the flags, reads the plan, and returns the directory of the project.
func (f *simFlags) prepare(s *streams, o *simulate.Options) (dir string, err error) {
	f.budget = o.Budget
	for _, group := range o.Only {
		if !slices.Contains(f.groups(), group) {
			return "", usageError("--only " + group + ": want " + strings.Join(f.groups(), ", "))
		}
	}
	if dir, err = s.absolute(); err != nil || f.replay == "" {
		return dir, err
	}
	if o.Replay, err = os.ReadFile(filepath.Join(dir, f.replay)); err != nil {
		e := diagnostic.AtFile(f.replay, "cannot read", err)
		e.Hint = cmp.Or(e.Hint, "kctrl "+f.name+" writes a plan for each failure into bin/"+f.name)
		return "", e
	}
	return dir, nil
}

// plansProgress returns a function that reports the number of completed plans at most every five seconds.
func plansProgress(p controlplane.Progress) func(done, planned int) {
	last := time.Now()
	return func(done, planned int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			p.Step(fmt.Sprintf("%d of %d plans", done, planned))
		}
	}
}

type simOptions struct {
	simFlags
	simulate.SimOptions
}

func newSimCommand(s *streams) *cobra.Command {
	o := simOptions{simFlags: simFlags{name: "sim"}}
	cmd := &cobra.Command{
		Use:   "sim [flags] [-- ARGUMENT...]",
		Short: "Simulate the operator with injected faults",
		Long: `Run the whole operator against planned faults, in virtual time, on an in-memory API server. The
command needs no test code: config/samples contains the desired state, and config/default contains
the CRDs and the role. If the operator needs other objects before it starts, such as CRDs of other
projects, put them into the optional directory config/sim.

An operator on controller-runtime needs no changes: kctrl compiles it with kctrl's runtime, as kctrl
migrate does, and changes no file. Arguments after -- replace the Deployment's arguments.

A run without faults records each write of the operator and each event that it receives. Each plan
then injects a fault at one of these writes or events: a crash before or after a write, a lost
response, a conflict, a server error, a late, cut or merged watch, a clock jump, a failing webhook, a
lost lease, or a user who deletes, recreates or changes an object. Rejected requests are simulated
only with --only reject.

With each fault, the operator must reach the same state as without faults, and create each object the
same number of times. It must also satisfy rules that apply to every operator. The project's package
internal/sim can add rules; see sim.Always and sim.Eventually in package runtime/sim.

The exit code is 1 if a plan fails. The output shows the requests around the fault, and the name of a
file with the plan, which --replay runs again. With --debug, the plan runs in the debugger dlv: set a
breakpoint, such as break (*GuestbookReconciler).Reconcile, and continue.`,
		Example: `  kctrl sim
  kctrl sim --only crash,stale --budget 30s
  kctrl sim --replay bin/sim/1.yaml
  kctrl sim --replay bin/sim/1.yaml --debug`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				o.Args = args
			}
			return runSim(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&o.Seed, "seed", 1, "seed that determines the order of requests and events")
	flags.StringVar(&o.Main, "main", "", "`package` of the program, such as ./cmd (default the only one with a manager)")
	flags.BoolVar(&o.Debug, "debug", false, "with --replay, run the plan in the debugger dlv")
	o.addTo(flags, &o.Options)
	return cmd
}

// simGroups are the kinds of faults that --only accepts. They correspond to the table in testserver/simulator.
var simGroups = []string{
	"crash", "lost", "conflict", "error", "stale", "watch", "stall", "clock", "webhook", "leader", "user", "change",
	"reject",
}

func runSim(ctx context.Context, s *streams, o simOptions) error {
	dir, err := o.prepare(s, &o.Options)
	if err != nil {
		return err
	}
	if o.Debug && o.replay == "" {
		return usageError("--debug requires --replay, because a debugger runs a single plan")
	}
	progress := progress(s)
	report, err := simulate.Run(ctx, dir, o.SimOptions, progress, plansProgress(progress))
	if err != nil || report == nil {
		return err
	}
	return o.print(s, dir, report)
}

// print prints the report. It returns an error if plans failed.
func (f *simFlags) print(s *streams, dir string, report *simulate.Report) error {
	var err error
	switch f.output {
	case outputJSON:
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	case outputJUnit:
		err = report.WriteJUnit(s.out, "kctrl "+f.name)
	case outputHTML:
		err = report.WritePage(s.out, "kctrl "+f.name)
	default:
		err = f.printText(s, dir, report)
	}
	if err == nil && report.Run == 0 && len(report.Failures) == 0 && f.budget > 0 {
		err = diagnostic.New("no plan ran: the run without faults took longer than --budget "+f.budget.String(),
			"raise --budget; 0 is no limit")
	}
	if err == nil && len(report.Failures) > 0 {
		err = diagnostic.New(plural(len(report.Failures), "plan")+" of "+strconv.Itoa(report.Run)+" failed",
			"kctrl "+f.name+
				" --replay FILE runs one again; --disable RULE skips a rule that does not hold for this operator")
	}
	return err
}

// printText prints the failures, and writes the plan of each failure to a file.
func (f *simFlags) printText(s *streams, dir string, report *simulate.Report) error {
	for i, failure := range report.Failures {
		s.printf("%s", failure.Story)
		file := f.replay
		if file == "" {
			file = filepath.Join("bin", f.name, fmt.Sprintf("%d.yaml", i+1))
			path := filepath.Join(dir, file)
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(failure.Plan), 0o644))
			if err != nil {
				return err
			}
		}
		s.printf("  replay: kctrl %s --replay %s\n\n", f.name, file)
	}
	s.printf("%d of %d plans, %d failures, %.1f s (%.1f plans/s); "+
		"without faults the operator makes %s after %s\n",
		report.Run, report.Planned, len(report.Failures), report.Seconds, float64(report.Run)/max(report.Seconds, 0.001),
		plural(report.Writes, "write"), plural(report.Events, "event"))
	if 0 < report.Run && report.Run < report.Planned && f.budget > 0 {
		s.printf("the budget of %s ended before %s; another --seed chooses others\n",
			f.budget, plural(report.Planned-report.Run, "plan"))
	}
	return nil
}
