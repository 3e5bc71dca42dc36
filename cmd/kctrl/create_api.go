package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func newCreateAPICommand(s *streams) *cobra.Command {
	var opts scaffold.APIOptions
	var foreign scaffold.ControllerOptions
	conversion := true
	write := writeOptions{command: "kctrl create api"}
	cmd := &cobra.Command{
		Use:   "api --group webapp --version v1 --kind Guestbook",
		Short: "Add a kind, with its CRD, its controller and their tests",
		Long: `Add a kind: its Go type and CRD, a controller with a test, a sample, and roles for its users. What follows from
markers is generated at once, so that the project builds, tests and deploys as it is.

A further version of a kind that is there begins as a copy of the first one: of its Go types as they are now, and of its
sample. With it come the functions that convert the versions into each other, field by field, a test that nothing is lost
on the way, and what has API servers call them. One version is stored: the first, until --storage-version says otherwise.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl, opts.NoConversion = kctrlBuild(), !conversion
			if named := foreign.Name + foreign.Path; opts.Resource && named != "" {
				return &diagnostic.Error{
					Message: "a controller of its own name, or for a kind of somebody else, comes without a resource",
					Hint:    "kctrl create controller takes these flags",
					Class:   diagnostic.ErrUsage,
				}
			}
			return runCreate(cmd.Context(), s, createPlan{
				write: write,
				plan: func(p *openedProject) (*plan.Plan, error) {
					if opts.Resource || !opts.Controller {
						return scaffold.PlanAPI(p.fsys, p.Project, opts)
					}
					foreign.Types = typesOf(p.dir)
					return scaffold.PlanController(p.fsys, p.Project, controllerAlone(opts, foreign))
				},
				generators: follows,
				next:       []string{"make generate manifests", "make test"},
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "", "API group, without the domain of the project (default: the domain is the group)")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1 or v1alpha1 (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	flags.BoolVar(&opts.Resource, "resource", true, "write the Go type, the CRD and a sample")
	flags.BoolVar(&opts.Controller, "controller", true, "write a controller and its test")
	flags.StringVar(&foreign.Name, "controller-name", "", "with --resource=false, the name of the controller (default: the kind's)")
	addExternalFlags(flags, &foreign.Path, &foreign.Domain, &foreign.Module)
	flags.BoolVar(&opts.Namespaced, "namespaced", true, "objects of the kind live in namespaces; false makes it cluster scoped")
	flags.BoolVar(&conversion, "conversion", true, "convert the versions of a kind that has several; false leaves it to the API server, which changes the apiVersion alone")
	flags.BoolVar(&opts.StorageVersion, "storage-version", false, "store the objects of the kind in this version from now on")
	flags.BoolVar(&opts.Force, "force", false, "write the files of a kind that exists anew, whatever was changed in them")
	write.addFlags(flags)
	return cmd
}

// controllerAlone returns what kctrl create controller would be asked for.
func controllerAlone(opts scaffold.APIOptions, foreign scaffold.ControllerOptions) scaffold.ControllerOptions {
	foreign.Group, foreign.Version, foreign.Kind, foreign.Plural = opts.Group, opts.Version, opts.Kind, opts.Plural
	foreign.Namespaced, foreign.Force, foreign.Kctrl = opts.Namespaced, opts.Force, opts.Kctrl
	return foreign
}
