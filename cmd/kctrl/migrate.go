package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/migrate"
)

func newMigrateCommand(s *streams) *cobra.Command {
	var undo bool
	var measured measureOptions
	write := writeOptions{command: "kctrl migrate"}
	cmd := &cobra.Command{
		Use:   "migrate [flags] [-- ARGUMENT...]",
		Short: "Run a controller-runtime operator on kctrl's runtime",
		Long: `Run the operator in this directory on kctrl's runtime, without changing its Go code. The operator
must use controller-runtime v0.23 to v0.25. The command writes a module with controller-runtime's
API to third_party, and adds replace lines for it to go.mod. It converts PROJECT, and changes
Makefiles, Dockerfiles and workflows to use kctrl. Run the command again to update third_party.

kctrl migrate code then rewrites packages to kctrl's own API. --undo restores all files from before
the latest step. If one of these files has changed since, --undo fails and writes nothing.

--measure compares both runtimes and changes no files. It builds the operator on each of them, and
runs each build on an API server with many copies of the objects in config/samples. It prints time,
CPU, memory and requests side by side. Pass arguments to the operator after --. The operator has
administrator permissions, and API servers do not call its webhooks. KCTRL_TEST_SERVER=real uses a
real API server.`,
		Example: `  kctrl migrate --measure --objects 20000 -- --metrics-bind-address=0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if measured.measure && cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := measured.validate(cmd.Flags(), undo, write); err != nil {
				return err
			}
			if measured.measure {
				measured.Args = args
				return runMeasure(cmd.Context(), s, measured, write.output)
			}
			return runMigrate(cmd.Context(), s, undo, write)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&undo, "undo", false, "restore the files from before the latest step")
	measured.addFlags(flags)
	write.addFlags(flags)
	cmd.AddCommand(newMigrateCodeCommand(s))
	return cmd
}

func newMigrateCodeCommand(s *streams) *cobra.Command {
	write := writeOptions{command: "kctrl migrate code"}
	cmd := &cobra.Command{
		Use:   "code [packages...]",
		Short: "Rewrite Go packages to use kctrl's API",
		Long: `Rewrite Go packages to use kctrl's API instead of controller-runtime's; run kctrl migrate first. The
arguments are patterns such as ./internal/controller; without one, the command rewrites all packages
of the module.

The command changes code only if type information proves that the behavior stays the same. Other
code keeps using controller-runtime's API, and the command lists these uses. It writes nothing
unless all packages and tests of the module compile before and after the rewrite.

It also type-checks files that build constraints exclude, with the tags and the GOOS that they need.
It does not rewrite packages used by files that do not compile, and it changes no generated files.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runMigrateCode(cmd.Context(), s, args, write) },
	}
	write.addFlags(cmd.Flags())
	return cmd
}

func runMigrateCode(ctx context.Context, s *streams, patterns []string, write writeOptions) error {
	return s.change(ctx, write, anyDirectory, func(p *openedProject) error {
		planned, report, err := migrate.Code(ctx, s.dir, p.fsys, patterns, progress(s).Step)
		if err != nil {
			return err
		}
		p.plan = planned
		p.print = func() error {
			if write.output == outputJSON {
				return printJSON(s, rewritten{resultOf(write, planned, nil), report})
			}
			if err := printDone(s, write, planned); err != nil {
				return err
			}
			report.Print(s.out)
			return nil
		}
		return nil
	})
}

// rewritten is the output of kctrl migrate code with -o json.
type rewritten struct {
	result
	Report *migrate.Report `json:"report"`
}

func runMigrate(ctx context.Context, s *streams, undo bool, write writeOptions) error {
	return s.change(ctx, write, anyDirectory, func(p *openedProject) (err error) {
		if undo {
			p.plan, err = migrate.Undo(p.fsys)
			return err
		}
		p.plan, err = migrate.Adopt(ctx, s.dir, p.fsys, kctrlBuild())
		p.next = []string{"go build ./... && go vet ./...", "kctrl migrate code ./internal/controller"}
		return err
	})
}
