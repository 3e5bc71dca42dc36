package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

func newCreateWebhookCommand(s *streams) *cobra.Command {
	var opts scaffold.WebhookOptions
	write := writeOptions{command: "kctrl create webhook"}
	cmd := &cobra.Command{
		Use:   "webhook --group webapp --version v1 --kind Guestbook --defaulting --validation",
		Short: "Add webhooks or a policy to a kind",
		Long: `Add webhooks to a kind, with their tests and manifests. --defaulting adds a webhook that sets fields,
--validation a webhook that rejects objects, and --conversion a webhook that converts objects
between versions.

--policy writes a ValidatingAdmissionPolicy to config/policy. API servers evaluate it without
calling the manager. --rule adds a rule, which kctrl checks as an API server would. A rule that
refers to oldObject does not apply to create requests.

The kind can be defined in this project, be built in such as core v1 Pod, or have its Go types in
the package --external-api-path. Only kinds of this project support --conversion. Webhooks for other
kinds skip the namespaces of the control plane and of the operator, unless --namespace-selector is
set.

The manager creates and rotates the certificates of its webhooks, unless --certificates is
cert-manager. With make run and in tests, the API server calls the webhooks by URL.`,
		Example: `  kctrl create webhook --group webapp --version v1 --kind Guestbook --defaulting --validation
  kctrl create webhook --group core --version v1 --kind Pod --defaulting --object-selector guestbook=yes --failure-policy ignore
  kctrl create webhook --group webapp --version v1 --kind Guestbook --policy --rule 'the message stays=object.spec.message == oldObject.spec.message'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return runCreateWebhook(cmd.Context(), s, write, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "",
		"API group of the kind; for a kind of this project, without the project's domain")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1; with --conversion, the hub version (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	addExternalFlags(flags, &opts.Path, &opts.Domain, &opts.Module)
	flags.BoolVar(&opts.Namespaced, "namespaced", true, "for a kind of another project, whether it is namespaced")
	flags.BoolVar(&opts.Defaulting, "defaulting", false, "write a defaulter")
	flags.BoolVar(&opts.Validation, "validation", false, "write a validator")
	flags.BoolVar(&opts.Validation, "programmatic-validation", false, "the same as --validation")
	flags.BoolVar(&opts.Conversion, "conversion", false, "write conversions between this version and other versions")
	flags.StringSliceVar(&opts.Spokes, "spoke", nil, "comma-separated `versions` to convert (default: all other versions)")
	flags.BoolVar(&opts.Policy, "policy", false, "write a ValidatingAdmissionPolicy, which API servers evaluate")
	flags.StringArrayVar(&opts.Rules, "rule", nil,
		"rule of the policy as `message=expression`, in CEL, which is true for valid objects; repeatable")
	flags.StringVar(&opts.DefaultingPath, "defaulting-path", "",
		"URL `path` of the defaulter (default: /mutate- and the kind)")
	flags.StringVar(&opts.ValidationPath, "validation-path", "",
		"URL `path` of the validator (default: /validate- and the kind)")
	addRequestFlags(flags, &opts.Requests)
	flags.StringVar(&opts.Certificates, "certificates", "",
		"issuer of the webhook certificates: `self-signed|cert-manager` (default: self-signed)")
	flags.BoolVar(&opts.Force, "force", false, "overwrite the files of existing webhooks")
	write.addFlags(flags)
	return cmd
}

func runCreateWebhook(ctx context.Context, s *streams, write writeOptions, opts scaffold.WebhookOptions) error {
	return s.change(ctx, write, project.Load, func(p *openedProject) (err error) {
		p.next = []string{"make manifests", "make test"}
		opts.Types = typesOf(ctx, p.dir)
		if p.plan, err = scaffold.PlanWebhook(p.fsys, p.Project, opts); err != nil {
			return err
		}
		admits := func(g generator.Generator) bool { return follows(g) || g.Name == "webhook" }
		if err := p.generate(ctx, generate.Options{Generators: generate.Named(admits)}); err != nil {
			return err
		}
		return opts.CheckExpressions(p.plan, p.Project)
	})
}

// addRequestFlags adds the flags that select requests for webhooks and policies.
func addRequestFlags(flags *pflag.FlagSet, r *render.Requests) {
	flags.StringSliceVar(&r.Verbs, "verbs", nil,
		"comma-separated `operations` to handle: create, update, delete, connect (default: create,update)")
	flags.StringVar(&r.FailurePolicy, "failure-policy", "",
		"result of requests while the webhook is unreachable: `fail|ignore` (default: fail)")
	flags.DurationVar(&r.Timeout, "timeout", 0, "`time` that API servers wait for a webhook, at most 30s (default: 10s)")
	flags.StringVar(&r.NamespaceSelector, "namespace-selector", "",
		"`labels` of the namespaces to handle, such as environment=production")
	flags.StringVar(&r.ObjectSelector, "object-selector", "", "`labels` of the objects to handle")
	flags.StringArrayVar(&r.MatchConditions, "match-condition", nil,
		"`name=expression`, in CEL, which must be true for the requests to handle; repeatable")
}
