package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func newCreateCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Add something to the project",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return &diagnostic.Error{
				Message: "create needs to know what",
				Hint:    "kctrl create api --group webapp --version v1 --kind Guestbook",
				Class:   diagnostic.ErrUsage,
			}
		},
	}
	cmd.AddCommand(newCreateAPICommand(s), newCreateControllerCommand(s), newCreateWebhookCommand(s))
	return cmd
}

// createPlan makes the plan of a create command, and what follows from it by generators.
type createPlan struct {
	write      writeOptions
	plan       func(*openedProject) (*plan.Plan, error)
	generators func(generator.Generator) bool
	// check looks at what is planned and generated; checkRules is one that compiles the rules of what is created.
	check, checkRules func(*plan.Plan, *openedProject) error
	next              []string
}

// addExternalFlags adds the flags that say where the Go types of a kind of somebody else are.
func addExternalFlags(flags *pflag.FlagSet, path, domain, module *string) {
	flags.StringVar(path, "external-api-path", "", "import `path` of the Go types of a kind of somebody else")
	flags.StringVar(domain, "external-api-domain", "", "what the API group of such a kind ends in behind --group")
	flags.StringVar(module, "external-api-module", "", "Go `module` that these types are in, with its version")
}

// follows says that a generator makes what follows from a kind or a controller.
func follows(g generator.Generator) bool { return g.Follows }

// runCreate adds something to the project, and all that is generated from it.
func runCreate(ctx context.Context, s *streams, c createPlan) error {
	release, err := begin(ctx, s, s.dir, c.write.access())
	if err != nil {
		return err
	}
	defer release()
	project, err := openProject(s)
	if err != nil {
		return err
	}
	defer project.Close()
	planned, err := c.plan(project)
	if err != nil {
		return err
	}
	if err := generate.Run(ctx, project.dir, planned, project.Project, generate.Options{Generators: generate.Named(c.generators), LeaveRules: c.checkRules != nil}); err != nil {
		return err
	}
	for _, check := range []func(*plan.Plan, *openedProject) error{c.check, c.checkRules} {
		if check == nil {
			continue
		}
		if err := check(planned, project); err != nil {
			return err
		}
	}
	printNotes(s, planned)
	return finishPlan(ctx, s, c.write, planned, c.next...)
}
