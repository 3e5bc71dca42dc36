package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/release"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newBuildInstallerCommand(s *streams) *cobra.Command {
	opts := buildOptions{write: writeOptions{command: "kctrl build installer"}}
	file := "dist/install.yaml"
	cmd := &cobra.Command{
		Use:   "installer",
		Short: "Write config/default to one file",
		Long: `Build config/default, as kustomize does, and write all objects to one file for kubectl apply
--server-side -f. The command does not change config/. --image sets the image of all containers
whose image is "controller" or, if there is no such container, the image of the manager.`,
		Example: `  kctrl build installer --image example.com/guestbook:v1.0.0
  kctrl build installer --image example.com/guestbook:v1.0.0 --file - | kubectl apply --server-side -f -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBuildInstaller(cmd.Context(), s, opts, file) },
	}
	cmd.Flags().StringVar(&file, "file", file, "`file` to write; - writes to standard output")
	opts.addFlags(cmd.Flags())
	return cmd
}

func runBuildInstaller(ctx context.Context, s *streams, o buildOptions, file string) error {
	if file != "-" {
		return runBuild(ctx, s, o, func(p *plan.Plan, _ *project.Project, source release.Source) error {
			return release.PlanInstaller(p, filepath.ToSlash(file), o.force, source)
		})
	}
	if o.write.check || o.write.diff || o.write.dryRun || o.write.output != outputText {
		return usageError("--file - only prints: remove --check, --dry-run, --diff and --output")
	}
	if err := o.validate(); err != nil {
		return err
	}
	return s.locked(ctx, reads, foreign(true), func(p *openedProject) error {
		o.source.Dir = p.dir
		content, err := release.Installer(o.source)
		if err != nil {
			return err
		}
		s.printf("%s", content)
		return nil
	})
}
