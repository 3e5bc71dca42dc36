package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/afero"
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/migrate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

func newMigrateCommand(s *streams) *cobra.Command {
	var opts migrate.Options
	write := writeOptions{command: "kctrl migrate"}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make a kctrl project of one of kubebuilder or operator-sdk",
		Long: `Make a kctrl project of the one of kubebuilder or operator-sdk in this folder: its Go code is rewritten from controller-runtime to the
bundled runtime, and PROJECT, go.mod, the Makefile, the Dockerfile and the workflows are edited. The project is to compile before.
CRDs, roles and webhook configurations do not change.

What cannot be rewritten stays as it is, below a comment that begins with "// kctrl:migrate:", and is listed at the end. The result is
compiled in a copy of the project before anything is written. Commit before: git diff shows what was done, and git restore undoes it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return runMigrate(cmd.Context(), s, opts, write)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.KeepRuntime, "keep-runtime", false, "leave the Go code and controller-runtime, and migrate what generates and builds")
	write.addFlags(flags)
	return cmd
}

func runMigrate(ctx context.Context, s *streams, opts migrate.Options, write writeOptions) error {
	release, err := begin(ctx, s, s.dir, write.access())
	if err != nil {
		return err
	}
	defer release()
	root, err := transaction.Open(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	p, report, err := migrate.Plan(ctx, s.dir, afero.NewIOFS(root), opts)
	if err != nil {
		return err
	}
	if !write.dryRun {
		if err := applyPlan(ctx, s.dir, write.command, p); err != nil {
			return err
		}
	}
	if write.output == outputJSON {
		return printMigration(s, write, p, report)
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

// migration is what kctrl migrate prints with -o json.
type migration struct {
	result
	Report *migrate.Report `json:"report"`
}

func printMigration(s *streams, write writeOptions, p *plan.Plan, report *migrate.Report) error {
	m := migration{result: result{DryRun: write.dryRun, Changes: []resultChange{}}, Report: report}
	for change := range p.Changes() {
		m.Changes = append(m.Changes, resultChange{Op: change.Op.String(), Path: change.Path, Template: change.Template})
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(m)
}
