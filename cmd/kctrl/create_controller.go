package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newCreateControllerCommand(s *streams) *cobra.Command {
	var opts scaffold.ControllerOptions
	write := writeOptions{command: "kctrl create controller"}
	cmd := &cobra.Command{
		Use:   "controller --group apps --version v1 --kind Deployment",
		Short: "Add a controller for any kind",
		Long: `Add a controller with its test and permissions. The controller reconciles a kind from one of these
sources:

  the project     kinds that api/ defines
  Kubernetes      kinds such as apps/v1 Deployment; use the group core for Pods
  another module  kinds whose Go types are in the package --external-api-path

To add a second controller for the same kind, set --controller-name.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return s.change(cmd.Context(), write, project.Load, func(p *openedProject) (err error) {
				p.next = []string{"make manifests", "make test"}
				opts.Types = typesOf(cmd.Context(), p.dir)
				if p.plan, err = scaffold.PlanController(p.fsys, p.Project, opts); err != nil {
					return err
				}
				return p.generate(cmd.Context(), generate.Options{Generators: generate.Named(follows)})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "",
		"API group of the kind; for a kind of this project, without the project's domain")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1 (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Deployment (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	flags.StringVar(&opts.Name, "controller-name", "", "name of the controller (default: the name of the kind)")
	addExternalFlags(flags, &opts.Path, &opts.Domain, &opts.Module)
	flags.BoolVar(&opts.Namespaced, "namespaced", true, "for a kind of another project, whether it is namespaced")
	flags.BoolVar(&opts.Force, "force", false, "overwrite the files of an existing controller")
	write.addFlags(flags)
	return cmd
}
