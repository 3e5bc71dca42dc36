package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/release"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newBuildCommand(s *streams) *cobra.Command {
	cmd := newGroup("build", "Package config/ for distribution",
		"kctrl build installer --image example.com/guestbook:v1, or kctrl build chart",
		newBuildInstallerCommand(s), newBuildChartCommand(s))
	for _, sub := range cmd.Commands() {
		sub.PreRunE = func(cmd *cobra.Command, _ []string) error { return validateGiven(cmd) }
	}
	return cmd
}

// validateGiven checks the flags of a subcommand of build: --image must be valid, and paths must not be empty.
func validateGiven(cmd *cobra.Command) error {
	for _, name := range []string{"dir", "file"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Value.String() == "" {
			return diagnostic.Usage("--"+name+" is empty", "remove it to write "+flag.DefValue)
		}
	}
	return validateImage(cmd)
}

// validateImage checks --image. An empty value, such as --image "$IMG" with IMG unset, is an error and does not mean
// the default.
func validateImage(cmd *cobra.Command) error {
	if flag := cmd.Flags().Lookup("image"); flag.Changed {
		return project.ValidateImage(flag.Value.String())
	}
	return nil
}

// buildOptions are the flags that the subcommands of build share.
type buildOptions struct {
	write  writeOptions
	force  bool
	source release.Source
}

func (o *buildOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.source.Image, "image", "", "`image` of the manager (default: the image in config/)")
	flags.StringVarP(&o.source.Kustomization, "kustomize", "k", "config/default",
		"`directory` of the kustomization to package")
	flags.BoolVar(&o.force, "force", false, "overwrite files that you edited or that kctrl did not write")
	o.write.addCheckFlag(flags)
	o.write.addFlags(flags)
}

func (o *buildOptions) validate() error {
	if !filepath.IsLocal(o.source.Kustomization) {
		return usageError("--kustomize needs a directory of the project, such as config/default")
	}
	return nil
}

// runBuild runs a subcommand of build. The function build plans the files to distribute.
func runBuild(
	ctx context.Context, s *streams, o buildOptions, build func(*plan.Plan, *project.Project, release.Source) error,
) error {
	if err := o.validate(); err != nil {
		return err
	}
	return s.change(ctx, o.write, foreign(true), func(p *openedProject) error {
		if err := p.startPlan(); err != nil {
			return err
		}
		if p.Name == "" { // old versions of kubebuilder use the name of the directory
			p.Name = strings.ToLower(filepath.Base(p.dir))
		}
		o.source.Dir = p.dir
		return build(p.plan, p.Project, o.source)
	})
}
