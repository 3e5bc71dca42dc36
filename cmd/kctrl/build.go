package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/release"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newBuildCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Make of config/ what others install the operator from",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return &diagnostic.Error{
				Message: "build needs to know what",
				Hint:    "kctrl build installer --image example.com/guestbook:v1, or kctrl build chart",
				Class:   diagnostic.ErrUsage,
			}
		},
	}
	cmd.AddCommand(newBuildInstallerCommand(s), newBuildChartCommand(s))
	for _, sub := range cmd.Commands() {
		sub.PreRunE = func(cmd *cobra.Command, _ []string) error { return validateGiven(cmd) }
	}
	return cmd
}

// validateGiven checks what a command below build is given: the image, and a place that is not empty.
func validateGiven(cmd *cobra.Command) error {
	for _, name := range []string{"dir", "file"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Value.String() == "" {
			return &diagnostic.Error{Message: "--" + name + " is empty", Hint: "leave it out to write " + flag.DefValue, Class: diagnostic.ErrUsage}
		}
	}
	return validateImage(cmd)
}

// validateImage checks the image that a command is given. One that is empty, as --image "$IMG" is where IMG is not set, is no wish for
// the default.
func validateImage(cmd *cobra.Command) error {
	if flag := cmd.Flags().Lookup("image"); flag.Changed {
		return project.ValidateImage(flag.Value.String())
	}
	return nil
}

// buildOptions are the flags that the commands below build share.
type buildOptions struct {
	write  writeOptions
	check  bool
	force  bool
	source release.Source
}

func (o *buildOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.source.Image, "image", "", "`image` that the manager runs (default: the one that config/ names)")
	flags.StringVarP(&o.source.Kustomization, "kustomize", "k", "config/default", "`folder` with the kustomization of what is installed")
	flags.BoolVar(&o.force, "force", false, "replace what was edited, or is not kctrl's")
	flags.BoolVar(&o.check, "check", false, checkUsage)
	o.write.addFlags(flags)
}

func (o *buildOptions) validate() error {
	if !filepath.IsLocal(o.source.Kustomization) {
		return usageError("--kustomize wants a folder of the project, such as config/default")
	}
	return nil
}

func newBuildInstallerCommand(s *streams) *cobra.Command {
	opts := buildOptions{write: writeOptions{command: "kctrl build installer"}}
	file := "dist/install.yaml"
	cmd := &cobra.Command{
		Use:   "installer",
		Short: "Write one file with everything that the operator needs in a cluster",
		Long: `Build config/default, as kustomize does, into one file that users apply by kubectl apply --server-side -f. Nothing in
config/ is changed, with --image neither: it is put into the containers that have the image controller, or into that of the
manager.`,
		Example: `  kctrl build installer --image example.com/guestbook:v1.0.0
  kctrl build installer --image example.com/guestbook:v1.0.0 --file - | kubectl apply --server-side -f -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBuildInstaller(cmd.Context(), s, opts, file) },
	}
	cmd.Flags().StringVar(&file, "file", file, "`file` to write; - is standard output")
	opts.addFlags(cmd.Flags())
	return cmd
}

func runBuildInstaller(ctx context.Context, s *streams, o buildOptions, file string) error {
	if file != "-" {
		return runBuild(ctx, s, o, func(p *plan.Plan, _ *project.Project, source release.Source) error {
			return release.PlanInstaller(p, filepath.ToSlash(file), o.force, source)
		})
	}
	if o.check || o.write.diff || o.write.dryRun || o.write.output != outputText {
		return usageError("--file - only prints: leave out --check, --dry-run, --diff and --output")
	}
	if err := o.validate(); err != nil {
		return err
	}
	release, content, err := readInstaller(ctx, s, o)
	if err != nil {
		return err
	}
	defer release()
	s.printf("%s", content)
	return nil
}

// readInstaller builds an installer under the lock of the folder.
func readInstaller(ctx context.Context, s *streams, o buildOptions) (done func(), content []byte, err error) {
	done, err = begin(ctx, s, s.dir, reads)
	if err != nil {
		return nil, nil, err
	}
	project, err := openForeign(s, true)
	if err == nil {
		defer project.Close()
		o.source.Dir = project.dir
		content, err = release.Installer(o.source)
	}
	if err != nil {
		done()
	}
	return done, content, err
}

func newBuildChartCommand(s *streams) *cobra.Command {
	opts := buildOptions{write: writeOptions{command: "kctrl build chart"}}
	chart := release.Chart{Dir: "dist/chart"}
	cmd := &cobra.Command{
		Use:   "chart",
		Short: "Write a Helm chart with everything that the operator needs in a cluster",
		Long: `Write a Helm chart with a template for each object that config/default builds to. With its own values it installs these
objects; values set the image, replicas, resources, where the manager runs, its service account, the CRDs, metrics,
certificates, network policies and monitoring. Written again, it keeps your values and the templates that you have edited or
added, and adds the values that are new.`,
		Example: `  kctrl build chart --image example.com/guestbook:v1.0.0 --version 1.0.0
  helm install guestbook dist/chart --namespace guestbook-system --create-namespace`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runBuild(cmd.Context(), s, opts, func(p *plan.Plan, proj *project.Project, source release.Source) error {
				chart.Name, chart.Force = proj.Name, opts.force
				chart.Dir = filepath.ToSlash(chart.Dir)
				return release.PlanChart(p, chart, source)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&chart.Dir, "dir", chart.Dir, "`folder` of the chart")
	flags.StringVar(&chart.Version, "version", "", "`version` of the chart, and of the operator in it (default: what Chart.yaml says, or 0.1.0)")
	opts.addFlags(flags)
	return cmd
}

// runBuild plans what a command below build makes, and writes it or compares with it.
func runBuild(ctx context.Context, s *streams, o buildOptions, build func(*plan.Plan, *project.Project, release.Source) error) error {
	if err := o.validate(); err != nil {
		return err
	}
	done, err := begin(ctx, s, s.dir, access(!o.write.dryRun && !o.check))
	if err != nil {
		return err
	}
	defer done()
	project, err := openForeign(s, true)
	if err != nil {
		return err
	}
	defer project.Close()
	p := plan.NewWithoutLock(project.fsys)
	if !project.Foreign {
		if p, err = scaffold.NewProjectPlan(project.fsys, project.Project, kctrlBuild()); err != nil {
			return err
		}
	}
	if project.Name == "" { // one of nobody's, or of an old kubebuilder, which named it after its folder
		project.Name = strings.ToLower(filepath.Base(project.dir))
	}
	o.source.Dir = project.dir
	if err := build(p, project.Project, o.source); err != nil {
		return err
	}
	printNotes(s, p)
	if o.check {
		return checkDrift(s, o.write, p)
	}
	return finishPlan(ctx, s, o.write, p)
}
