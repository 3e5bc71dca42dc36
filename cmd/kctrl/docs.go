package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// manual is an output format for the help of all commands.
type manual struct {
	name, short string
	// file returns the file name for a command, which is given as words.
	file func(words []string) string
	page func(w io.Writer, cmd *cobra.Command)
}

var manuals = []manual{
	{name: "markdown", short: "Write a Markdown page for each command", file: markdownFile, page: writeMarkdown},
	{
		name: "man", short: "Write a manual page for each command, of section 1",
		file: func(words []string) string { return strings.Join(words, "-") + ".1" },
		page: writeMan,
	},
}

func newDocsCommand(s *streams) *cobra.Command {
	cmd := newGroup("docs", "Write the help of all commands as files",
		"kctrl docs man DIR, or kctrl docs markdown DIR")
	for _, m := range manuals {
		cmd.AddCommand(newManualCommand(s, m))
	}
	return cmd
}

func newManualCommand(s *streams, m manual) *cobra.Command {
	write := writeOptions{command: "kctrl docs " + m.name}
	cmd := &cobra.Command{
		Use:     m.name + " DIR",
		Short:   m.short,
		Long:    m.short + ", in the directory DIR. The command keeps other files in DIR.",
		Example: "  kctrl docs " + m.name + " docs/cli",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && filepath.IsLocal(args[0]) {
				return nil
			}
			return diagnostic.Usage("docs "+m.name+" needs one directory below the current one",
				"kctrl docs "+m.name+" docs/cli")
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDocs(cmd.Context(), s, write, cmd.Root(), m, filepath.ToSlash(args[0]))
		},
	}
	write.addFlags(cmd.Flags())
	return cmd
}

func runDocs(ctx context.Context, s *streams, write writeOptions, root *cobra.Command, m manual, dir string) error {
	return s.change(ctx, write, anyDirectory, func(p *openedProject) error {
		if err := p.startPlan(); err != nil {
			return err
		}
		for name, content := range m.pages(root) {
			if err := p.plan.WriteFile(plan.File{Path: path.Join(dir, name), Content: content, Force: true}); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages returns the pages of root and all commands below it, by file name.
func (m manual) pages(root *cobra.Command) map[string][]byte {
	all := map[string][]byte{}
	for _, cmd := range documented(root) {
		var page bytes.Buffer
		m.page(&page, cmd)
		all[m.file(strings.Fields(cmd.CommandPath()))] = page.Bytes()
	}
	return all
}

// documented returns a command and its visible subcommands, in the order in which the help lists them.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range subcommands(cmd) {
		all = append(all, documented(sub)...)
	}
	return all
}

// subcommands returns the visible subcommands of a command.
func subcommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()),
		func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
}

// flagsOf returns the visible flags of a command, followed by the global flags.
func flagsOf(cmd *cobra.Command) []*pflag.Flag {
	var all []*pflag.Flag
	add := func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			all = append(all, flag)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return all
}

// flagUsage returns the syntax of a flag, and its description with the default.
func flagUsage(flag *pflag.Flag) (written, usage string) {
	value, usage := pflag.UnquoteUsage(flag)
	written = "--" + flag.Name
	if flag.Shorthand != "" {
		written = "-" + flag.Shorthand + ", " + written
	}
	if value != "" {
		written += " " + value
	}
	if standard := flag.DefValue; !slices.Contains([]string{"", "false", "[]", "0", "0s"}, standard) &&
		!strings.Contains(usage, "(default") {
		usage += " (default: " + standard + ")"
	}
	return written, usage
}

func markdownFile(words []string) string { return strings.Join(words, "_") + ".md" }

func writeMarkdown(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "<!-- Written by kctrl docs markdown. -->\n\n# %s\n\n%s\n\n```\n%s\n```\n", cmd.CommandPath(),
		markdownText(cmp.Or(cmd.Long, cmd.Short)), cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n## Examples\n\n```sh\n%s\n```\n", unindented(cmd.Example))
	}
	if subs := subcommands(cmd); len(subs) > 0 {
		fmt.Fprintf(w, "\n## Commands\n\n")
		for _, sub := range subs {
			fmt.Fprintf(w, "- [%s](%s): %s\n", sub.CommandPath(), markdownFile(strings.Fields(sub.CommandPath())), sub.Short)
		}
	}
	fmt.Fprintf(w, "\n## Flags\n\n| flag | what it does |\n|---|---|\n")
	for _, flag := range flagsOf(cmd) {
		written, usage := flagUsage(flag)
		fmt.Fprintf(w, "| `%s` | %s |\n", strings.ReplaceAll(written, "|", `\|`), markdownEscapes.Replace(usage))
	}
	if parent := cmd.Parent(); parent != nil {
		fmt.Fprintf(w, "\nPart of [%s](%s).\n", parent.CommandPath(), markdownFile(strings.Fields(parent.CommandPath())))
	}
}

// markdownEscapes escapes tags and column separators.
var markdownEscapes = strings.NewReplacer("<", `\<`, "|", `\|`)

// markdownText returns help as Markdown: an indented paragraph becomes a code block.
func markdownText(help string) string {
	paragraphs := strings.Split(help, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, "  ") {
			paragraphs[i] = "```\n" + unindented(paragraph) + "\n```"
		} else {
			paragraphs[i] = strings.ReplaceAll(paragraph, "<", `\<`)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// unindented removes the common indentation of lines.
func unindented(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+strings.Trim(text, "\n"), "\n  ", "\n"), "\n")
}

func writeMan(w io.Writer, cmd *cobra.Command) {
	page := func(c *cobra.Command) string { return strings.Join(strings.Fields(c.CommandPath()), "-") }
	fmt.Fprintf(w, ".TH %q 1 \"\" \"kctrl\" \"kctrl manual\"\n", strings.ToUpper(page(cmd)))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(page(cmd)), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	fmt.Fprintf(w, ".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		if i > 0 {
			fmt.Fprintf(w, ".PP\n")
		}
		if strings.HasPrefix(paragraph, "  ") {
			fmt.Fprintf(w, ".EX\n%s\n.EE\n", roff(paragraph))
			continue
		}
		fmt.Fprintf(w, "%s\n", roff(paragraph))
	}
	fmt.Fprintf(w, ".SH OPTIONS\n")
	for _, flag := range flagsOf(cmd) {
		written, usage := flagUsage(flag)
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(written), roff(usage))
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.EX\n%s\n.EE\n", roff(strings.Trim(cmd.Example, "\n")))
	}
	related := subcommands(cmd)
	if parent := cmd.Parent(); parent != nil {
		related = append(related, parent)
	}
	if len(related) > 0 {
		var names []string
		for _, c := range related {
			names = append(names, "\\fB"+roff(page(c))+"\\fR(1)")
		}
		fmt.Fprintf(w, ".SH SEE ALSO\n%s\n", strings.Join(names, ", "))
	}
}

// roff escapes text for troff: dots at the beginning of lines, which troff reads as requests, and hyphens.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
