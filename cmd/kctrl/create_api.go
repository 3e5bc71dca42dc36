package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

func newCreateAPICommand(s *streams) *cobra.Command {
	var opts scaffold.APIOptions
	write := writeOptions{command: "kctrl create api"}
	cmd := &cobra.Command{
		Use:   "api --group webapp --version v1 --kind Guestbook",
		Short: "Add a kind, with its CRD, its controller and their tests",
		Long: `Add a kind: its Go type and CRD, a controller with a test, a sample, and roles for its users. What follows from
markers is generated at once, so that the project builds, tests and deploys as it is.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return runCreateAPI(cmd.Context(), s, opts, write)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "", "API group, without the domain of the project (default: the domain is the group)")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1 or v1alpha1 (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	flags.BoolVar(&opts.Resource, "resource", true, "write the Go type, the CRD and a sample")
	flags.BoolVar(&opts.Controller, "controller", true, "write a controller and its test")
	flags.BoolVar(&opts.Namespaced, "namespaced", true, "objects of the kind live in namespaces; false makes it cluster scoped")
	flags.BoolVar(&opts.Force, "force", false, "write the files of a kind that exists anew, whatever was changed in them")
	write.addFlags(flags)
	return cmd
}

func runCreateAPI(ctx context.Context, s *streams, opts scaffold.APIOptions, write writeOptions) error {
	release, err := begin(ctx, s, s.dir, write.access())
	if err != nil {
		return err
	}
	defer release()
	project, err := openProject(s)
	if err != nil {
		return err
	}
	defer project.Close()
	plan, err := scaffold.PlanAPI(project.fsys, project.Project, opts)
	if err != nil {
		return err
	}
	follows := generate.Options{Generators: generate.Named(func(g generator.Generator) bool { return g.Follows })}
	if err := generate.Run(ctx, project.dir, plan, project.Project, follows); err != nil {
		return err
	}
	printNotes(s, plan)
	return finishPlan(ctx, s, write, plan, "make generate manifests", "make test")
}
