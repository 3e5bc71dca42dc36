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

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/simulate"
)

// simOptions are the flags of sim.
type simOptions struct {
	simulate.Options
	replay string
	output outputFormat
}

func newSimCommand(s *streams) *cobra.Command {
	o := simOptions{output: outputText}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Test the operator against crashes, stale reads and conflicts",
		Long: `Run the whole operator against planned faults, in virtual time, on an API server in memory. No test
code is needed: the objects of config/samples are the desired state, and config/default has the
definitions and the role.

A run without faults shows what the operator writes and which events it receives. Each plan then
injects a fault at one of these places: a crash before or after a write, a lost answer, a conflict,
an error of the server, a late, cut or merged watch, or the user who deletes or recreates an object.
The operator must reach the same state, as often as it must create the same objects, and follow
further rules that hold for every operator.

The exit code is 1 if a plan fails. The output shows what happened, and names the file with the plan,
which --replay runs again.`,
		Example: `  kctrl sim
  kctrl sim --only crash,stale --budget 30s
  kctrl sim --replay bin/sim/1.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSim(cmd.Context(), s, o) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the order of requests and events")
	flags.IntVar(&o.Plans, "plans", 0, "run at most `N` plans; 0 runs all")
	flags.DurationVar(&o.Budget, "budget", 0, "start no plan after this `time`, such as 30s; 0 is no limit")
	flags.StringSliceVar(&o.Only, "only", nil, "only these `kinds` of faults: "+strings.Join(simGroups, ", "))
	flags.StringSliceVar(&o.Disabled, "disable", nil, "skip the `rules` with these names")
	flags.StringVar(&o.replay, "replay", "", "run only the plan in this `file`")
	flags.VarP(&o.output, "output", "o", "output format: `text|json`")
	return cmd
}

// simGroups are the kinds of faults that --only accepts, see the table in testserver/simulator.
var simGroups = []string{"crash", "lost", "conflict", "error", "stale", "watch", "user"}

func runSim(ctx context.Context, s *streams, o simOptions) error {
	for _, group := range o.Only {
		if !slices.Contains(simGroups, group) {
			return usageError("--only " + group + ": want " + strings.Join(simGroups, ", "))
		}
	}
	dir, err := s.absolute()
	if err != nil {
		return err
	}
	if o.replay != "" {
		if o.Replay, err = os.ReadFile(filepath.Join(dir, o.replay)); err != nil {
			e := diagnostic.AtFile(o.replay, "cannot read", err)
			e.Hint = cmp.Or(e.Hint, "kctrl sim writes a plan for each failure into bin/sim")
			return e
		}
	}
	progress := progress(s)
	last := time.Now()
	report, err := simulate.Run(ctx, dir, o.Options, progress.Step, func(done, planned int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			progress.Step(fmt.Sprintf("%d of %d plans", done, planned))
		}
	})
	if err != nil {
		return err
	}
	if o.output == outputJSON {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = printSimulation(s, dir, report, o.replay)
	}
	if err == nil && len(report.Failures) > 0 {
		err = &diagnostic.Error{
			Message: plural(len(report.Failures), "plan") + " of " + strconv.Itoa(report.Run) + " failed",
			Hint:    "kctrl sim --replay FILE runs one again; --disable RULE skips a rule that does not hold for this operator",
		}
	}
	return err
}

// printSimulation prints the failures, and writes the plan of each into a file.
func printSimulation(s *streams, dir string, report *simulate.Report, replayed string) error {
	for i, f := range report.Failures {
		s.printf("%s", f.Story)
		file := replayed
		if file == "" {
			file = filepath.Join("bin", "sim", fmt.Sprintf("%d.yaml", i+1))
			path := filepath.Join(dir, file)
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.Plan), 0o644))
			if err != nil {
				return err
			}
		}
		s.printf("  replay: kctrl sim --replay %s\n\n", file)
	}
	s.printf(
		"%d of %d plans, %d failures, %.1f s (%.0f plans/s); without faults the operator makes %d writes after %d events\n",
		report.Run,
		report.Planned,
		len(report.Failures),
		report.Seconds,
		float64(report.Run)/max(report.Seconds, 0.001),
		report.Writes,
		report.Events,
	)
	return nil
}
