package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/plugin"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

func newPluginCommand(s *streams) *cobra.Command {
	write := writeOptions{command: "kctrl plugin"}
	asked := plugin.Run{Command: "edit"}
	describe := false
	cmd := &cobra.Command{
		Use:   "plugin NAME/VERSION [flags] [-- flags of the plugin]",
		Short: "Add to the project what an external plugin of kubebuilder makes",
		Long: `Run an executable that speaks kubebuilder's protocol of external plugins, and write the files that it returns, as kctrl writes its
own: all or none, with --dry-run and --diff, inside of the project alone, and never over a file that somebody has edited.

The plugin is at PATH, or it is NAME/VERSION/NAME in the folder that EXTERNAL_PLUGINS_PATH names, and else in kctrl/plugins or
kubebuilder/plugins of the user's configuration. It starts in an empty folder, and is sent the files that it asks for, in the
field files of its answer to the command flags, and those that --read allows it.`,
		Example: `  kctrl plugin sampleexternalplugin/v1 --dry-run -- --prometheus-namespace monitoring
  kctrl plugin ./bin/myplugin --read 'config/**'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return &diagnostic.Error{Message: "plugin needs to know which", Hint: "kctrl plugin sampleexternalplugin/v1, or kctrl plugin ./myplugin", Class: diagnostic.ErrUsage}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			asked.Args = args[1:]
			if describe {
				return runDescribePlugin(cmd.Context(), s, args[0], asked.Command)
			}
			return runPlugin(cmd.Context(), s, write, args[0], asked)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(true)
	flags.StringVar(&asked.Command, "command", asked.Command, "what the plugin is asked to do: `edit|init|create api|create webhook`")
	flags.BoolVar(&describe, "describe", false, "print what the plugin says of that command and which flags it has, and write nothing")
	flags.StringArrayVar(&asked.Read, "read", nil, "`pattern` of files that the plugin is sent, such as config/**; may be given again")
	flags.BoolVar(&asked.Force, "force", false, "let the plugin replace files that it was not sent, whatever was changed in them")
	write.addFlags(flags)
	return cmd
}

// findPlugin returns a plugin that can be asked for a command.
func findPlugin(s *streams, name, command string) (plugin.Plugin, error) {
	if !slices.Contains(plugin.Commands(), command) {
		return plugin.Plugin{}, &diagnostic.Error{Message: "no plugin is asked to " + diagnostic.Quote(command), Hint: "write --command=edit, init, create api or create webhook", Class: diagnostic.ErrUsage}
	}
	found, err := plugin.Find(name)
	found.Log = s.err
	return found, err
}

func runDescribePlugin(ctx context.Context, s *streams, name, command string) error {
	external, err := findPlugin(s, name, command)
	if err != nil {
		return err
	}
	said, err := external.Describe(ctx, command)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintln(&b, cmp.Or(strings.TrimSpace(said.Description), "The plugin "+external.Name+" says nothing of "+command+"."))
	if examples := strings.Trim(said.Examples, "\n"); examples != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", examples)
	}
	if len(said.Flags) > 0 {
		fmt.Fprintln(&b, "\nFlags:")
	}
	for _, flag := range said.Flags {
		line := "  --" + flag.Name
		if flag.Type != "" && flag.Type != "bool" {
			line += " " + flag.Type
		}
		if line += "  " + flag.Usage; flag.Default != "" {
			line += " (default " + flag.Default + ")"
		}
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	_, err = io.WriteString(s.out, b.String())
	return err
}

func runPlugin(ctx context.Context, s *streams, write writeOptions, name string, asked plugin.Run) error {
	external, err := findPlugin(s, name, asked.Command)
	if err != nil {
		return err
	}
	done, err := begin(ctx, s, s.dir, write.access())
	if err != nil {
		return err
	}
	defer done()
	project, err := openProject(s)
	if err != nil {
		return err
	}
	defer project.Close()
	p, err := scaffold.NewProjectPlan(project.fsys, project.Project, kctrlBuild())
	if err != nil {
		return err
	}
	if err := external.Plan(ctx, p, project.Project, asked); err != nil {
		return err
	}
	return finishPlan(ctx, s, write, p)
}
