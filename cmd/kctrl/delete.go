package main

import (
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newDeleteCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Take something out of the project that kctrl create has added",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return &diagnostic.Error{
				Message: "delete needs to know what",
				Hint:    "kctrl delete api --group webapp --kind Guestbook; or version, controller, webhook",
				Class:   diagnostic.ErrUsage,
			}
		},
	}
	for _, d := range deletions {
		cmd.AddCommand(newDeletionCommand(s, d))
	}
	return cmd
}

// deletion is what one delete command takes out of a project.
type deletion struct {
	use, short, long string
	plan             func(fs.FS, *project.Project, scaffold.DeleteOptions) (*plan.Plan, error)
	flags            func(*pflag.FlagSet, *scaffold.DeleteOptions)
}

// kept is what all delete commands say of what users have edited.
const kept = `

Files that were edited since kctrl wrote them stay, with what they need, and are named: --force deletes them too. What else the project
needs is not deleted. Generated files follow.`

var deletions = []deletion{
	{
		use: "api --group webapp --kind Guestbook", short: "Take a kind out of the project, with its controller",
		long: `Take a kind out of the project: its Go type and CRD, its controller, their tests, its sample and roles, as kctrl create api
wrote them; in one version with --version, else in all. Its webhooks and further controllers go first, by commands of their own.`,
		plan: scaffold.PlanDeleteAPI,
	},
	{
		use: "version --group webapp --version v2 --kind Guestbook", short: "Take one of several versions of a kind out of the project",
		long: `Take one of several versions of a kind out of the project, with its conversion. The version that API servers store, and one
that others are converted to, cannot go before another has taken its place.`,
		plan: scaffold.PlanDeleteVersion,
	},
	{
		use: "controller --group apps --version v1 --kind Deployment", short: "Take a controller out of the project",
		long: `Take a controller and its test out of the project. Its rights go with its markers; a kind of somebody else that nothing in the
project is about any more goes out of PROJECT.`,
		plan: scaffold.PlanDeleteController,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.StringVar(&opts.Name, "controller-name", "", "name of the controller (default: the kind's)")
		},
	},
	{
		use: "webhook --group webapp --version v1 --kind Guestbook --defaulting", short: "Take webhooks of a kind out of the project",
		long: `Take webhooks of a kind out of the project, one at a time or several at once. With the last of all goes what deploys them.`,
		plan: scaffold.PlanDeleteWebhook,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.BoolVar(&opts.Defaulting, "defaulting", false, "delete what fills in objects before they are stored")
			flags.BoolVar(&opts.Validation, "validation", false, "delete what refuses objects")
			flags.BoolVar(&opts.Validation, "programmatic-validation", false, "the same as --validation")
			flags.BoolVar(&opts.Policy, "policy", false, "delete the ValidatingAdmissionPolicy")
			flags.BoolVar(&opts.Conversion, "conversion", false, "delete what converts the other versions of the kind to and from this one")
			flags.StringSliceVar(&opts.Spokes, "spoke", nil, "comma-separated `versions` to convert no more (default: all others)")
		},
	},
}

func newDeletionCommand(s *streams, d deletion) *cobra.Command {
	var opts scaffold.DeleteOptions
	name, _, _ := strings.Cut(d.use, " ")
	write := writeOptions{command: "kctrl delete " + name}
	cmd := &cobra.Command{
		Use:   d.use,
		Short: d.short,
		Long:  d.long + kept,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return s.change(cmd.Context(), write, project.Load, func(p *openedProject) (err error) {
				if p.plan, err = d.plan(p.fsys, p.Project, opts); err != nil {
					return err
				}
				return p.regenerate(cmd.Context())
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "", "API group of the kind, without the domain of the project if it is the project's own")
	version := "API version, such as v1 (required)"
	if name == "api" {
		version = "API version to delete, such as v1 (default: all)"
	}
	flags.StringVar(&opts.Version, "version", "", version)
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	if d.flags != nil {
		d.flags(flags, &opts)
	}
	flags.BoolVar(&opts.Force, "force", false, "delete files that were edited too")
	write.addFlags(flags)
	return cmd
}
