package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCreateCommand(s *streams) *cobra.Command {
	return newGroup("create", "Add a kind, controller or webhook",
		"kctrl create api --group webapp --version v1 --kind Guestbook",
		newCreateAPICommand(s), newCreateControllerCommand(s), newCreateWebhookCommand(s))
}

// addExternalFlags adds the flags for a kind whose Go types are in another module.
func addExternalFlags(flags *pflag.FlagSet, path, domain, module *string) {
	flags.StringVar(path, "external-api-path", "", "import `path` of the Go types, for a kind of another project")
	flags.StringVar(domain, "external-api-domain", "", "domain of the API group, for a kind of another project")
	flags.StringVar(module, "external-api-module", "", "Go `module` of --external-api-path, with its version")
}
