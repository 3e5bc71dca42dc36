package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/doctor"
)

type doctorOptions struct {
	write  writeOptions
	fix    bool
	checks []string
}

func newDoctorCommand(s *streams) *cobra.Command {
	o := doctorOptions{write: writeOptions{command: "kctrl doctor"}}
	var list strings.Builder
	for _, check := range doctor.Checks {
		fmt.Fprintf(&list, "\n  %-14s %s", check.Name, check.Help)
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the project and suggest repairs",
		Long: `Check the project, and report each problem with its position and a repair. The exit code is 3 if
generated files are out of date and there is no other problem, and 1 if there are other problems.
Warnings do not change the exit code.

The checks find:
` + list.String() + `

--fix applies the safe repairs, and then checks the project again.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), s, o) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.fix, "fix", false, "apply safe repairs")
	flags.StringSliceVar(&o.checks, "check", nil, "comma-separated `names` of the checks to run (default: all)")
	o.write.addFlags(flags)
	return cmd
}

func (o doctorOptions) validate() error {
	names := doctor.Names()
	for _, name := range o.checks {
		if slices.Contains(names, name) {
			continue
		}
		e := diagnostic.Usage("unknown check "+diagnostic.Quote(name), "the checks are "+strings.Join(names, ", "))
		if near, ok := diagnostic.Near(name, names); ok {
			e.Hint = "did you mean " + near + "?"
		}
		return e
	}
	if !o.fix && (o.write.dryRun || o.write.diff) {
		return usageError("--dry-run and --diff need --fix")
	}
	return nil
}

func runDoctor(ctx context.Context, s *streams, o doctorOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	return s.locked(ctx, access(o.fix && !o.write.dryRun), anyDirectory, func(p *openedProject) error {
		dir, err := filepath.EvalSymlinks(p.dir) // as kustomize reports paths
		if err != nil {
			return err
		}
		project := func() *doctor.Project { // caches the generated files
			return &doctor.Project{Dir: dir, FS: p.fsys, Kctrl: kctrlBuild(), GoVersion: goVersion,
				Compiled: controlPlaneCompiled}
		}
		found, err := doctor.Examine(ctx, project(), o.checks...)
		if err != nil {
			return err
		}
		o.fix = o.fix && slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Fixable })
		if o.fix {
			if found, err = repair(ctx, s, o, project, found); err != nil {
				return err
			}
		}
		return printDoctorFindings(s, o, found)
	})
}

// repair fixes the fixable findings, and returns the remaining findings.
func repair(
	ctx context.Context, s *streams, o doctorOptions, project func() *doctor.Project, found []doctor.Finding,
) ([]doctor.Finding, error) {
	fixes, err := doctor.Fix(ctx, project(), found)
	if err != nil {
		return nil, err
	}
	write := o.write
	switch {
	case write.output != outputJSON:
		err = finishPlan(ctx, s, write, fixes)
	case !write.dryRun: // findings must be the only JSON document
		err = applyPlan(ctx, s.dir, write.command, fixes)
	}
	if err != nil || write.dryRun {
		return found, err
	}
	return doctor.Examine(ctx, project(), o.checks...)
}

// printDoctorFindings prints the warnings and returns all other findings as an error.
func printDoctorFindings(s *streams, o doctorOptions, found []doctor.Finding) error {
	var errs []error
	all := []finding{}
	drift := true
	for _, f := range found {
		severity := severityError
		if f.Warning {
			severity = severityWarning
			s.problem("warning: ", f.Error)
		} else {
			errs = append(errs, f.Error)
			drift = drift && errors.Is(f.Error, diagnostic.ErrDrift)
		}
		all = append(all, newFinding(f.Error, severity))
	}
	if o.write.output == outputText && len(found) == 0 && !o.fix {
		s.printf("no problems found\n")
	}
	if err := printFound(s, o.write.output, all); err != nil {
		return err
	}
	if !drift {
		for i, err := range errs {
			if e, ok := errors.AsType[*diagnostic.Error](err); ok && errors.Is(err, diagnostic.ErrDrift) {
				plain := *e
				plain.Class = nil
				errs[i] = &plain
			}
		}
	}
	return errors.Join(errs...)
}

func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	return strings.TrimSpace(string(out)), err
}
