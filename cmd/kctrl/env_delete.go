package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvDeleteCommand(s *streams) *cobra.Command {
	return newManifestCommand(s, "delete", "Delete objects from the server, and wait until they are gone", (*controlplane.Objects).Delete)
}
