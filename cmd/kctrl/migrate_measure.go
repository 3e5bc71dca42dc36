package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/migrate/measure"
)

// measureOptions are the flags of migrate --measure.
type measureOptions struct {
	measure.Options
	measure bool
}

// measureFlags are the flags that need --measure.
var measureFlags = []string{"objects", "main", "config", "samples", "quiet", "longest"}

func (o *measureOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.measure, "measure", false, "compare the costs of the operator on both runtimes, and change nothing")
	flags.IntVar(&o.Objects, "objects", 1000, "with --measure, `number` of objects to create")
	flags.StringVar(&o.Main, "main", "",
		"with --measure, `package` of the program (default: the only main package with a manager)")
	flags.StringVar(&o.Config, "config", "", "with --measure, `path` of the CRDs (default: config/default)")
	flags.StringVar(&o.Samples, "samples", "",
		"with --measure, `path` of the objects to copy (default: config/samples)")
	flags.DurationVar(&o.Quiet, "quiet", 5*time.Second,
		"with --measure, consider the operator at rest after this `time` without requests and events")
	flags.DurationVar(&o.Longest, "longest", 10*time.Minute,
		"with --measure, fail if the operator is not at rest after this `time`")
}

func (o *measureOptions) validate(flags *pflag.FlagSet, undo bool, write writeOptions) error {
	if !o.measure {
		for _, name := range measureFlags {
			if flags.Changed(name) {
				return usageError("--" + name + " needs --measure")
			}
		}
		return nil
	}
	switch {
	case undo || write.dryRun || write.diff:
		return usageError("--measure changes nothing; remove --undo, --dry-run and --diff")
	case o.Objects < 1:
		return usageError("--objects: want at least 1")
	case o.Quiet <= 0 || o.Longest <= o.Quiet:
		return usageError("--quiet and --longest: want 0 < quiet < longest")
	}
	return nil
}

func runMeasure(ctx context.Context, s *streams, o measureOptions, output outputFormat) (err error) {
	if o.Dir, err = s.absolute(); err != nil {
		return err
	}
	inMemory := os.Getenv("KCTRL_TEST_SERVER") != "real"
	o.Build = kctrlBuild()
	o.Step = progress(s).Step
	o.Start = func(ctx context.Context) (string, func(), error) { return startServer(ctx, s, inMemory) }
	report, err := measure.Run(ctx, o.Options)
	if err != nil {
		return err
	}
	if output == outputJSON {
		return printJSON(s, report)
	}
	return report.Print(s.out)
}
