package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// generateOptions are the flags that generate and manifests share.
type generateOptions struct {
	write   writeOptions
	check   bool
	fix     bool
	watch   bool
	command string // what writes the files that a check finds out of date
	generate.Options
}

func (o *generateOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.check, "check", false, "write nothing: print what is out of date as a diff, and exit 3 if anything is")
	flags.StringSliceVar(&o.Paths, "paths", nil, "`folders` to look at, such as ./api/... (default: all of the project)")
	flags.StringSliceVar(&o.AllowUnknown, "allow-unknown", nil, "pass over unknown markers that begin with `prefix`")
	flags.BoolVar(&o.fix, "fix", false, "correct misspelt markers in the source where there is only one way to")
	flags.BoolVar(&o.watch, "watch", false, "go on, and do it again whenever a file changes, until Ctrl-C")
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
		Short: "Write the Go code that follows from the project: deep copies, apply configurations and registration",
		Long: `Write zz_generated.deepcopy.go in every package with +kubebuilder:object markers, apply configurations beside every
package with +kubebuilder:ac:generate=true, and zz_generated.register.go, by which the manager knows the kinds of the
project, those written by hand too, and the controllers that PROJECT lists. What apply configurations import is added to
go.mod and go.sum. Files whose content would not change are not touched.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGenerate(cmd.Context(), s, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HeaderFile, "header-file", "", "`file` with the text that generated code begins with (default "+generate.DefaultHeaderFile+", if there is one)")
	flags.StringVar(&opts.Year, "year", "", "what replaces YEAR in the header")
	opts.addFlags(flags)
	return cmd
}

func makesCode(g generator.Generator) bool { return g.Code }

func makesManifests(g generator.Generator) bool { return !g.Code }

// generateProject plans what the markers of the project ask for, and writes it or compares with it.
func generateProject(ctx context.Context, s *streams, o generateOptions) error {
	o.write.command = o.command
	release, err := begin(ctx, s, s.dir, access(!o.write.dryRun && !o.check))
	if err != nil {
		return err
	}
	defer release()
	project, err := openProject(s)
	if err != nil {
		return err
	}
	defer project.Close()
	o.Cache = incremental.UserStore()
	boundMemory()
	plan, err := scaffold.NewProjectPlan(project.fsys, project.Project, kctrlBuild())
	if err != nil {
		return err
	}
	if o.fix {
		if err := generate.Fix(ctx, project.dir, plan, o.Options); err != nil {
			return err
		}
	}
	if err := scaffold.PlanRuntime(plan, project.Project); err != nil {
		return err
	}
	if slices.Contains(o.Generators, generate.Object) {
		if err := scaffold.PlanRegistration(plan, project.Project); err != nil {
			return err
		}
	}
	stop := showProgress(s.err)
	err = generate.Run(ctx, project.dir, plan, project.Project, o.Options)
	stop()
	if err != nil {
		return err
	}
	printNotes(s, plan)
	if o.check {
		return checkPlan(ctx, s, o, plan)
	}
	return finishPlan(ctx, s, o.write, plan)
}

// checkPlan prints what a plan would change, and fails if that is anything.
func checkPlan(ctx context.Context, s *streams, o generateOptions, plan *plan.Plan) error {
	o.write.dryRun = true
	if o.write.output == outputJSON {
		if err := finishPlan(ctx, s, o.write, plan); err != nil {
			return err
		}
	} else {
		printDrift(s, plan)
	}
	switch n := outOfDate(plan); n {
	case 0:
		return nil
	case 1:
		return drift("1 file is out of date", o.command)
	default:
		return drift(fmt.Sprintf("%d files are out of date", n), o.command)
	}
}

// printDrift prints the changes of a plan but those of the runtime, which is missing: a note has said so.
func printDrift(s *streams, plan *plan.Plan) {
	for change := range plan.Changes() {
		if !isBundled(change) {
			s.printf("%s", change.Diff())
		}
	}
}

// outOfDate counts the changes of a plan. The lock follows the others and counts only if it is alone.
func outOfDate(p *plan.Plan) int {
	n := p.Len()
	for change := range p.Changes() {
		if change.Path == project.LockFile && n > 1 {
			return n - 1
		}
	}
	return n
}

func drift(message, command string) error {
	return &diagnostic.Error{
		Message: message,
		Hint:    "run " + command + " and commit what it writes",
		Class:   diagnostic.ErrDrift,
	}
}
