package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/migrate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func newMigrateCommand(s *streams) *cobra.Command {
	var opts migrate.Options
	write := writeOptions{command: "kctrl migrate"}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate a kubebuilder or operator-sdk project",
		Long: `Migrate the kubebuilder or operator-sdk project in this directory. The command rewrites Go code from
controller-runtime to the bundled runtime, and edits PROJECT, go.mod, the Makefile, the Dockerfile
and the workflows. CRDs, roles and webhook configurations do not change. The project must compile
before.

Code without a rule stays, below a comment that begins with "// kctrl:migrate:", and the report
lists it with a suggestion. kctrl compiles the result in a copy before it writes. Commit first: git
diff shows the changes, and git restore undoes them.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return runMigrate(cmd.Context(), s, opts, write)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.KeepRuntime, "keep-runtime", false,
		"keep Go code and controller-runtime; migrate only generation and build files")
	write.addFlags(flags)
	return cmd
}

func runMigrate(ctx context.Context, s *streams, opts migrate.Options, write writeOptions) error {
	return s.change(ctx, write, anyDirectory, func(p *openedProject) error {
		planned, report, err := migrate.Plan(ctx, s.dir, p.fsys, opts)
		if err != nil {
			return err
		}
		p.plan = planned
		var note error
		if !write.dryRun {
			note = withoutUndo(ctx, s.dir, planned) // while git status shows only the user's own changes
		}
		p.print = func() error {
			if note != nil {
				s.problem("warning: ", note)
			}
			return printMigration(s, write, planned, report)
		}
		return nil
	})
}

// withoutUndo returns a warning if git cannot restore the files that a plan changes: there is no repository, or the
// files have uncommitted changes.
func withoutUndo(ctx context.Context, dir string, p *plan.Plan) error {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		return string(out), err
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return &diagnostic.Error{Message: "not a git repository, so the migration cannot be undone",
			Hint: "copy the directory, or run git init and commit, before you migrate"}
	}
	status, err := git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".")
	if err != nil {
		return nil
	}
	dirty := map[string]bool{}
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) > 3 {
			dirty[strings.TrimPrefix(entry[3:], strings.TrimSpace(prefix))] = true
		}
	}
	var names []string
	for change := range p.Changes() {
		if change.Op != plan.Create && dirty[change.Path] {
			names = append(names, change.Path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("uncommitted changes in %s, such as %s: git restore would undo them too",
			files(len(names)), names[0]),
		Hint: "commit before you migrate",
	}
}

// migration is the output of kctrl migrate -o json.
type migration struct {
	result
	Report *migrate.Report `json:"report"`
}

func printMigration(s *streams, write writeOptions, p *plan.Plan, report *migrate.Report) error {
	if write.output == outputJSON {
		return printJSON(s, migration{resultOf(write, p, nil), report})
	}
	if err := printDone(s, write, p); err != nil {
		return err
	}
	report.Print(s.out)
	if !write.dryRun {
		printNext(s, []string{"go vet ./...", "make manifests test"})
	}
	return nil
}
