package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// commands are the constructors of all commands, in the order of the help text.
var commands = []func(*streams) *cobra.Command{
	newInitCommand,
	newCreateCommand,
	newDeleteCommand,
	newEditCommand,
	newRenameCommand,
	newUpgradeCommand,
	newGenerateCommand,
	newManifestsCommand,
	newBuildCommand,
	newGenCommand,
	newVerifyCommand,
	newDiffCommand,
	newSimCommand,
	newChaosCommand,
	newVetCommand,
	newRBACCommand,
	newDoctorCommand,
	newExplainCommand,
	newMigrateCommand,
	newEnvCommand,
	newDocsCommand,
	newVersionCommand,
	newCompletionCommand,
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s *streams) int {
	root := newRootCommand(s)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if stopped(ctx, err) {
		err = errInterrupted
	}
	return report(s, command, s.checkResult(err), askedFormat(args))
}

func newRootCommand(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kctrl",
		Short: "Scaffold, generate, run and test Kubernetes operators",
		Long: `kctrl takes you from an empty directory to a running Kubernetes operator.

  kctrl init --domain example.com --repo example.com/guestbook
  kctrl create api --group webapp --version v1 --kind Guestbook --resource --controller
  make generate manifests
  kctrl env up`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().StringVarP(&s.dir, "directory", "C", ".", "working `directory`")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	for _, newCommand := range commands {
		root.AddCommand(newCommand(s))
	}
	offerValues(s, root)
	return root
}

// newGroup returns a command that only has subcommands. hint has examples of them.
func newGroup(name, short, hint string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return diagnostic.Usage(name+" needs a subcommand", hint)
		},
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// noArgs returns an error that reports the first positional argument, or nil if there is none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasAvailableSubCommands() {
		return unknownCommand(cmd, args[0])
	}
	return usageError("unexpected argument " + diagnostic.Quote(args[0]))
}

// usageError returns an error of the command line, which results in exit code 2.
func usageError(message string) error {
	return &diagnostic.Error{Message: message, Class: diagnostic.ErrUsage}
}
