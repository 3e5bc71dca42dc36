package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

type explainOptions struct {
	all    bool
	format outputFormat
}

func newExplainCommand(s *streams) *cobra.Command {
	opts := explainOptions{format: outputText}
	cmd := &cobra.Command{
		Use:   "explain [marker]",
		Short: "Explain markers, their arguments and targets",
		Long: `List all markers, or explain one marker: its targets, its arguments with types and defaults, and an
example. The last part of a marker's name is sufficient, such as MinLength or printcolumn.`,
		Example: `  kctrl explain
  kctrl explain printcolumn
  kctrl explain --all --format markdown`,
		Args:              atMostOneMarker,
		ValidArgsFunction: completeMarker,
		RunE:              func(_ *cobra.Command, args []string) error { return runExplain(s, opts, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.all, "all", false, "explain all markers")
	format := formatFlag{&opts.format, []outputFormat{outputText, outputMarkdown, outputJSON}}
	flags.Var(format, "format", "output format: `text|markdown|json`")
	flags.VarP(format, "output", "o", "the same as --format: `text|markdown|json`")
	return cmd
}

func atMostOneMarker(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError("unexpected argument " + diagnostic.Quote(args[1]))
	}
	return nil
}

func completeMarker(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	registry, err := markers.NewRegistry()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, help := range registry.Explain() {
		names = append(names, help.Name+"\t"+help.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runExplain(s *streams, o explainOptions, args []string) error {
	registry, err := markers.NewRegistry()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return explainAll(s, o, registry.Explain())
	}
	if o.all {
		return usageError("--all and a marker cannot be combined")
	}
	help, err := findMarker(registry, args[0])
	if err != nil {
		return err
	}
	switch o.format {
	case outputJSON:
		return encodeJSON(s.out, help)
	case outputMarkdown:
		s.printf("%s", markdownMarker(help, "#"))
	default:
		s.printf("%s", textMarker(help))
	}
	return nil
}

// explainAll lists all markers, or explains each.
func explainAll(s *streams, o explainOptions, all []markers.Help) error {
	switch {
	case o.format == outputJSON:
		return encodeJSON(s.out, all)
	case o.format == outputMarkdown && o.all:
		s.printf("%s", markdownReference(all))
	case o.format == outputMarkdown:
		s.printf("%s", markdownList(all))
	case o.all:
		for i, help := range all {
			if i > 0 {
				s.printf("\n")
			}
			s.printf("%s", textMarker(help))
		}
	default:
		s.printf("%s", textList(all))
	}
	return nil
}

// findMarker returns the marker with a full name or with the last part of a name. It ignores arguments after the name.
func findMarker(registry *markers.Registry, name string) (markers.Help, error) {
	asked, _, _ := strings.Cut(name, "=")
	known, ok := registry.NameOf(name)
	if !ok {
		known, ok = registry.Ending(asked)
	}
	if ok {
		help, _ := registry.Help(known)
		return help, nil
	}
	near := registry.Nearest(asked)
	d := diagnostic.Usage("unknown marker "+diagnostic.Quote(name), "kctrl explain lists all markers")
	switch {
	case len(near) == 1:
		d.Hint = "did you mean " + near[0] + "?"
	case len(near) > 1:
		slices.Sort(near)
		d.Hint = "did you mean one of " + strings.Join(near, ", ") + "?"
	}
	return markers.Help{}, d
}
