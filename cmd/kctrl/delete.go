package main

import (
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newDeleteCommand(s *streams) *cobra.Command {
	cmd := newGroup("delete", "Remove a kind, version, controller or webhook",
		"kctrl delete api --group webapp --kind Guestbook; or version, controller, webhook")
	for _, d := range deletions {
		cmd.AddCommand(newDeletionCommand(s, d))
	}
	return cmd
}

type deletion struct {
	use, short, long string
	plan             func(fs.FS, *project.Project, scaffold.DeleteOptions) (*plan.Plan, error)
	flags            func(*pflag.FlagSet, *scaffold.DeleteOptions)
}

// kept is the end of the help of all delete commands.
const kept = `

The command keeps files that you edited and the files that they need, and lists them. --force
deletes them. The command also updates generated files.

If a patch or another entry of a kustomization in config needs a deleted object, the command reports
its line and changes nothing; with --force, it only warns.`

var deletions = []deletion{
	{
		use: "api --group webapp --kind Guestbook", short: "Remove a kind and its controller",
		long: `Remove the files that kctrl create api wrote: Go type, CRD, controller, tests, sample and roles.
--version removes only one version. Before you run the command, remove webhooks and additional
controllers of the kind.`,
		plan: scaffold.PlanDeleteAPI,
	},
	{
		use: "version --group webapp --version v2 --kind Guestbook", short: "Remove a version of a kind",
		long: `Remove one of several versions of a kind, with its conversion. If it is the storage version or the
hub, select another one first. If the controller uses the types of the version, make it use another
version first; --force removes such a controller too.`,
		plan: scaffold.PlanDeleteVersion,
	},
	{
		use: "controller --group apps --version v1 --kind Deployment", short: "Remove a controller",
		long: `Remove a controller with its test and its permissions. If the kind belongs to another project and has
no other controller or webhook, the command also removes the kind from PROJECT.`,
		plan: scaffold.PlanDeleteController,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.StringVar(&opts.Name, "controller-name", "", "name of the controller (default: the name of the kind)")
		},
	},
	{
		use: "webhook --group webapp --version v1 --kind Guestbook --defaulting", short: "Remove webhooks of a kind",
		long: `Remove webhooks of a kind. If the project has no other webhooks, the command also removes the webhook
manifests.`,
		plan: scaffold.PlanDeleteWebhook,
		flags: func(flags *pflag.FlagSet, opts *scaffold.DeleteOptions) {
			flags.BoolVar(&opts.Defaulting, "defaulting", false, "delete the defaulter")
			flags.BoolVar(&opts.Validation, "validation", false, "delete the validator")
			flags.BoolVar(&opts.Validation, "programmatic-validation", false, "the same as --validation")
			flags.BoolVar(&opts.Policy, "policy", false, "delete the ValidatingAdmissionPolicy")
			flags.BoolVar(&opts.Conversion, "conversion", false,
				"delete the conversions between this version and other versions")
			flags.StringSliceVar(&opts.Spokes, "spoke", nil,
				"comma-separated `versions` whose conversion to delete (default: all other versions)")
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
				return p.regenerate(cmd.Context(), opts.Force)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "",
		"API group of the kind; for a kind of this project, without the project's domain")
	version := "API version, such as v1 (required)"
	if name == "api" {
		version = "API version to delete, such as v1 (default: all)"
	}
	flags.StringVar(&opts.Version, "version", "", version)
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	if d.flags != nil {
		d.flags(flags, &opts)
	}
	flags.BoolVar(&opts.Force, "force", false, "also delete files that you edited and objects that kustomizations need")
	write.addFlags(flags)
	return cmd
}
