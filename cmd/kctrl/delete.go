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
		Short: "Remove a kind, version, controller or webhook",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return &diagnostic.Error{
				Message: "delete needs a subcommand",
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

// deletion is a delete command.
type deletion struct {
	use, short, long string
	plan             func(fs.FS, *project.Project, scaffold.DeleteOptions) (*plan.Plan, error)
	flags            func(*pflag.FlagSet, *scaffold.DeleteOptions)
}

// kept is the paragraph about edited files in the help of all delete commands.
const kept = `

Edited files stay, with the files that they need, and kctrl lists them; --force deletes them too.
The command updates generated files.`

var deletions = []deletion{
	{
		use: "api --group webapp --kind Guestbook", short: "Remove a kind and its controller",
		long: `Remove the files of kctrl create api: Go type, CRD, controller, tests, sample and roles. --version
limits this to one version. Remove webhooks and further controllers of the kind first.`,
		plan: scaffold.PlanDeleteAPI,
	},
	{
		use: "version --group webapp --version v2 --kind Guestbook", short: "Remove a version of a kind",
		long: `Remove one of several versions of a kind, with its conversion. Select another storage version or hub
before you remove that version.`,
		plan: scaffold.PlanDeleteVersion,
	},
	{
		use: "controller --group apps --version v1 --kind Deployment", short: "Remove a controller",
		long: `Remove a controller with its test and its permissions. After the last controller or webhook of a
foreign kind, the command also removes the kind from PROJECT.`,
		plan: scaffold.PlanDeleteController,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.StringVar(&opts.Name, "controller-name", "", "name of the controller (default: the kind's)")
		},
	},
	{
		use: "webhook --group webapp --version v1 --kind Guestbook --defaulting", short: "Remove webhooks of a kind",
		long: `Remove webhooks of a kind. Removing the last one also removes the webhook manifests.`,
		plan: scaffold.PlanDeleteWebhook,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.BoolVar(&opts.Defaulting, "defaulting", false, "delete the defaulter")
			flags.BoolVar(&opts.Validation, "validation", false, "delete the validator")
			flags.BoolVar(&opts.Validation, "programmatic-validation", false, "the same as --validation")
			flags.BoolVar(&opts.Policy, "policy", false, "delete the ValidatingAdmissionPolicy")
			flags.BoolVar(&opts.Conversion, "conversion", false, "delete the conversions between this version and the others")
			flags.StringSliceVar(&opts.Spokes, "spoke", nil,
				"comma-separated `versions` whose conversion to delete (default: all others)")
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
	flags.StringVar(&opts.Group, "group", "",
		"API group of the kind, without the domain of the project if it is the project's own")
	version := "API version, such as v1 (required)"
	if name == "api" {
		version = "API version to delete, such as v1 (default: all)"
	}
	flags.StringVar(&opts.Version, "version", "", version)
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	if d.flags != nil {
		d.flags(flags, &opts)
	}
	flags.BoolVar(&opts.Force, "force", false, "also delete edited files")
	write.addFlags(flags)
	return cmd
}
