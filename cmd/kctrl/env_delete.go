package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

type envDeleteOptions struct {
	server         serverOptions
	manifests      manifestOptions
	objects        selectionOptions
	all            bool
	wait           bool
	ignoreNotFound bool
}

func newEnvDeleteCommand(s *streams) *cobra.Command {
	var o envDeleteOptions
	cmd := &cobra.Command{
		Use:   "delete (RESOURCE [NAME...] | RESOURCE/NAME | -f FILE | -k DIRECTORY)",
		Short: "Delete objects, and wait until they are gone",
		Long: `Delete objects from the server, and wait until they are gone. If finalizers delay the deletion, the
command prints the finalizers while it waits.

  kctrl env delete -k config/samples
  kctrl env delete guestbooks guestbook-sample
  kctrl env delete guestbooks -l app=demo
  kctrl env delete guestbooks --all`,
		RunE: func(cmd *cobra.Command, args []string) error { return runEnvDelete(cmd.Context(), s, o, args) },
	}
	flags := cmd.Flags()
	o.server.addFlags(flags)
	o.manifests.addFlags(flags)
	o.objects.addFlags(flags)
	flags.BoolVar(&o.all, "all", false, "delete all objects of the resource in the namespace")
	flags.BoolVar(&o.wait, "wait", true, "wait until the objects are gone")
	flags.BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "ignore named objects that do not exist")
	return cmd
}

func runEnvDelete(ctx context.Context, s *streams, o envDeleteOptions, args []string) error {
	if err := o.server.validate(); err != nil {
		return err
	}
	how := kubectl.DeleteOptions{NoWait: !o.wait, IgnoreNotFound: o.ignoreNotFound}
	if len(args) == 0 || o.manifests.given() {
		return deleteManifests(ctx, s, o, args, how)
	}
	selection, err := o.objects.selection(args)
	if err != nil {
		return err
	}
	if selects := len(selection.Names) > 0 || selection.Labels+selection.Fields != ""; selects == o.all {
		return diagnostic.Usage("no names, selector or --all",
			"kctrl env delete "+args[0]+" NAME deletes one object, --all deletes all objects of a namespace")
	}
	client, err := o.server.connect(ctx, s)
	if err != nil {
		return err
	}
	return client.Delete(ctx, selection, how)
}

func deleteManifests(ctx context.Context, s *streams, o envDeleteOptions, args []string,
	how kubectl.DeleteOptions) error {
	if len(args) > 0 || !o.manifests.given() || o.all || o.objects != (selectionOptions{}) {
		return diagnostic.Usage("use either a resource, -f or -k",
			"-l, --field-selector, -A and --all select objects of a resource argument")
	}
	list, err := o.manifests.read(s)
	if err != nil {
		return err
	}
	client, err := o.server.connect(ctx, s)
	if err != nil {
		return err
	}
	return client.DeleteManifests(ctx, list, how)
}
