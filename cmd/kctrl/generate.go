package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/generate/postprocess"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// generateOptions are the flags of generate and manifests.
type generateOptions struct {
	write   writeOptions
	fix     bool
	watch   bool
	command string // command that writes outdated files
	generate.Options
}

// Descriptions of flags of generate, manifests and gen.
const (
	checkUsage       = "write nothing; print a diff of outdated files, and exit 3 if there are any"
	postprocessUsage = "`file` that declares changes to manifests (default " + postprocess.DefaultFile + ", if it exists)"
	watchUsage       = "generate again whenever a file changes, until Ctrl-C"
)

func (o *generateOptions) addFlags(flags *pflag.FlagSet) {
	o.write.addCheckFlag(flags)
	flags.StringSliceVar(&o.Paths, "paths", nil, "`directories` to read, such as ./api/... (default: the whole project)")
	flags.StringSliceVar(&o.AllowUnknown, "allow-unknown", nil, "accept unknown markers with this `prefix`")
	flags.BoolVar(&o.fix, "fix", false, "correct misspelled markers in the source if only one correction is possible")
	flags.BoolVar(&o.watch, "watch", false, watchUsage)
	for _, f := range o.Flags() {
		addFlag(flags, f)
	}
	o.write.addFlags(flags)
	allowSARIF(flags, &o.write.output)
}

func newGenerateCommand(s *streams) *cobra.Command {
	opts := generateOptions{command: "kctrl generate", Options: generate.Options{Generators: generate.Named(makesCode)}}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate Go code: deep copies, apply configurations, registration",
		Long: `Write zz_generated.deepcopy.go in packages with +kubebuilder:object markers, apply configurations
for packages with +kubebuilder:ac:generate=true, and zz_generated.register.go, which registers the
kinds of the project and the controllers in PROJECT. If apply configurations import further modules,
the command adds these modules to go.mod and go.sum. It writes only files that change.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGenerate(cmd.Context(), s, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HeaderFile, "header-file", "",
		"`file` with the header of generated code (default "+generate.DefaultHeaderFile+", if it exists)")
	flags.StringVar(&opts.Year, "year", "", "value of YEAR in the header (default: as in existing files, or this year)")
	opts.addFlags(flags)
	return cmd
}

func makesCode(g generator.Generator) bool { return g.Code }

func makesManifests(g generator.Generator) bool { return !g.Code }

// generateProject generates files from the markers of the project, and writes them or compares them with the existing
// files.
func generateProject(ctx context.Context, s *streams, o generateOptions) error {
	o.write.command = o.command
	return s.change(ctx, o.write, foreign(len(o.Paths) > 0), func(p *openedProject) error {
		o.Cache = incremental.UserStore()
		if err := p.startPlan(); err != nil {
			return err
		}
		if o.fix {
			if err := generate.Fix(ctx, p.dir, p.plan, o.Options); err != nil {
				return err
			}
		}
		if !p.Foreign {
			if err := planProject(p.plan, p.Project, o); err != nil {
				return err
			}
		}
		stop := showProgress(s)
		defer stop()
		return p.generate(ctx, o.Options)
	})
}

// planProject plans the generated files of a kctrl project that do not come from markers.
func planProject(p *plan.Plan, proj *project.Project, o generateOptions) error {
	err := gomod.PlanRuntime(p, proj)
	if err == nil && slices.Contains(o.Generators, generate.Object) {
		err = render.PlanRegistration(p, proj)
	}
	return err
}

// checkDrift prints the changes of a command, and returns an error if there are any.
func checkDrift(s *streams, o writeOptions, found changes) error {
	o.dryRun = true
	if o.output == outputJSON {
		if err := printDone(s, o, found); err != nil {
			return err
		}
	} else {
		for change := range found.Changes() {
			if summarizedDir(change.Path) == "" { // a note summarizes changes to the bundled runtime
				s.printf("%s", change.Diff())
			}
		}
	}
	n := outOfDate(found)
	if n == 0 {
		return nil
	}
	verb := " are"
	if n == 1 {
		verb = " is"
	}
	return &diagnostic.Error{
		Message: plural(n, "file") + verb + " out of date",
		Hint:    "run " + o.command + " and commit the result",
		Class:   diagnostic.ErrDrift,
	}
}

// outOfDate returns the number of changes. A change to the lock file counts only if it is the only change.
func outOfDate(found changes) int {
	n := found.Len()
	for change := range found.Changes() {
		if change.Path == project.LockFile && n > 1 {
			return n - 1
		}
	}
	return n
}
