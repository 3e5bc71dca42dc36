package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func newCreateWebhookCommand(s *streams) *cobra.Command {
	var opts scaffold.WebhookOptions
	write := writeOptions{command: "kctrl create webhook"}
	cmd := &cobra.Command{
		Use:   "webhook --group webapp --version v1 --kind Guestbook --defaulting --validation",
		Short: "Add webhooks to a kind, with their tests and what deploys them",
		Long: `Add webhooks to a kind, one at a time or several at once, in any order: each has files of its own. --defaulting fills in what
users leave out, --validation refuses what should not be stored, --conversion turns the versions of a kind into each other.

The manager makes the certificates of its webhooks itself, rotates them, and has API servers trust them, unless
--certificates=cert-manager. make run and the tests have the API server call the webhooks here, by URL.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return runCreate(cmd.Context(), s, createPlan{
				write:      write,
				plan:       func(p *openedProject) (*plan.Plan, error) { return scaffold.PlanWebhook(p.fsys, p.Project, opts) },
				generators: func(g generator.Generator) bool { return g.Follows || g.Name == "webhook" },
				next:       []string{"make manifests", "make test"},
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "", "API group of the kind, without the domain of the project")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1; with --conversion that of the hub (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	flags.BoolVar(&opts.Defaulting, "defaulting", false, "write what fills in objects before they are stored")
	flags.BoolVar(&opts.Validation, "validation", false, "write what refuses objects, or warns of them")
	flags.BoolVar(&opts.Validation, "programmatic-validation", false, "the same as --validation")
	flags.BoolVar(&opts.Conversion, "conversion", false, "write what converts the other versions of the kind to and from this one")
	flags.StringSliceVar(&opts.Spokes, "spoke", nil, "comma-separated `versions` to convert (default: all others)")
	flags.StringVar(&opts.Certificates, "certificates", "", "who makes the certificates of the webhooks: `self-signed|cert-manager` (default: self-signed)")
	flags.BoolVar(&opts.Force, "force", false, "write the files of webhooks that exist anew, whatever was changed in them")
	write.addFlags(flags)
	return cmd
}
