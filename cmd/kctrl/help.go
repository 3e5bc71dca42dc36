package main

import "github.com/spf13/cobra"

// newHelpCommand returns the command "help". Unlike cobra's, it fails if the command is unknown.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError(err.Error())
			}
			if len(rest) > 0 && target.HasAvailableSubCommands() {
				return unknownCommand(target, rest[0])
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}
