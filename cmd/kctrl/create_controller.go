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
		Long: `Add a controller with its test and permissions. The kind may be one of

  the project  defined in api/
  Kubernetes   such as apps/v1 Deployment; the group of Pods is core
  a module     with Go types in the package --external-api-path

Use --controller-name to add a second controller for the same kind.`,
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
		"API group of the kind, without the domain of the project if it is the project's own")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1 (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Deployment (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	flags.StringVar(&opts.Name, "controller-name", "", "name of the controller (default: the kind's)")
	addExternalFlags(flags, &opts.Path, &opts.Domain, &opts.Module)
	flags.BoolVar(&opts.Namespaced, "namespaced", true,
		"namespaced objects of a foreign kind; false for a cluster-scoped kind")
	flags.BoolVar(&opts.Force, "force", false, "overwrite the files of an existing controller")
	write.addFlags(flags)
	return cmd
}
