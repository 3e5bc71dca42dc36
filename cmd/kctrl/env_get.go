package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

type envGetOptions struct {
	server  serverOptions
	objects selectionOptions
	show    kubectl.GetOptions
	waitFor string
}

func newEnvGetCommand(s *streams) *cobra.Command {
	var o envGetOptions
	cmd := &cobra.Command{
		Use:   "get (RESOURCE[,RESOURCE...] [NAME...] | RESOURCE/NAME)",
		Short: "Show objects, such as guestbooks",
		Long: `Show objects in a table with the columns that the API server defines. As in kubectl, a RESOURCE is a
plural, singular or short name, a kind or a category; add the group if the name is ambiguous.

  kctrl env get guestbooks
  kctrl env get deploy,svc -A
  kctrl env get guestbooks/guestbook-sample -o yaml
  kctrl env get guestbooks guestbook-sample --wait-for Ready --timeout 5m`,
		ValidArgsFunction: completeObjects(s, &o.server),
		RunE:              func(cmd *cobra.Command, args []string) error { return runEnvGet(cmd.Context(), s, o, args) },
	}
	flags := cmd.Flags()
	o.server.addFlags(flags)
	o.objects.addFlags(flags)
	flags.StringVarP(&o.show.Output, "output", "o", "table", "output format: `"+strings.Join(kubectl.Outputs, "|")+"`")
	flags.BoolVarP(&o.show.Watch, "watch", "w", false, "print each change of the objects until interrupted")
	flags.StringVar(&o.waitFor, "wait-for", "",
		"wait until the named objects have this `condition`, such as Ready or Ready=False")
	flags.BoolVar(&o.show.ManagedFields, "show-managed-fields", false, "keep metadata.managedFields in yaml and json")
	return cmd
}

func runEnvGet(ctx context.Context, s *streams, o envGetOptions, args []string) error {
	if !slices.Contains(kubectl.Outputs, o.show.Output) {
		return diagnostic.Usage(fmt.Sprintf("unknown output format %q", o.show.Output),
			"-o "+alternatives(kubectl.Outputs))
	}
	if err := o.server.validate(); err != nil {
		return err
	}
	selection, err := o.objects.selection(args)
	if err != nil {
		return err
	}
	if o.waitFor != "" && len(selection.Names) == 0 {
		return usageError("--wait-for needs the name of an object")
	}
	client, err := o.server.connect(ctx, s)
	if err != nil {
		return err
	}
	if o.waitFor != "" {
		if err := client.WaitFor(ctx, selection, o.waitFor); err != nil {
			return err
		}
	}
	return client.Get(ctx, s.out, selection, o.show)
}
