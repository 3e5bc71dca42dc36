package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
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
	cmd.AddCommand(newCreateAPICommand(s))
	return cmd
}
