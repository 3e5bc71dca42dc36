package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// targetWords say what a marker describes.
func targetWords(targets []string) string {
	var words []string
	for _, target := range targets {
		words = append(words, "a "+target)
	}
	return strings.Join(words, ", ")
}

// textList lists markers by group for a terminal.
func textList(all []markers.Help) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	group := ""
	for _, help := range all {
		if help.Group != group {
			if group != "" {
				fmt.Fprintln(table)
			}
			group = help.Group
			fmt.Fprintf(table, "%s\n", group)
		}
		fmt.Fprintf(table, "  +%s\t%s\n", help.Name, help.Summary)
	}
	table.Flush()
	return out.String()
}

// textMarker explains a marker for a terminal.
func textMarker(help markers.Help) string {
	var out strings.Builder
	fmt.Fprintf(&out, "+%s\n\n", help.Name)
	fmt.Fprintf(&out, "  %s\n", help.Summary)
	if help.Details != "" {
		fmt.Fprintf(&out, "  %s\n", help.Details)
	}
	if help.Instead != "" {
		fmt.Fprintf(&out, "  Better use +%s.\n", help.Instead)
	}
	fmt.Fprintf(&out, "\nDescribes  %s\n", targetWords(help.Targets))
	if len(help.Arguments) == 1 && help.Arguments[0].Name == "" {
		fmt.Fprintf(&out, "Value      %s\n", valueWords(help.Arguments[0]))
	} else if len(help.Arguments) > 0 {
		fmt.Fprintf(&out, "Arguments\n")
		table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		for _, argument := range help.Arguments {
			fmt.Fprintf(table, "  %s\t%s\t%s\n", argument.Name, valueWords(argument), argument.Summary)
		}
		table.Flush()
	}
	fmt.Fprintf(&out, "Example    // %s\n", help.Example)
	return out.String()
}

// valueWords say what an argument takes.
func valueWords(argument markers.ArgumentHelp) string {
	switch {
	case argument.Required:
		return argument.Type
	case argument.Default != "":
		return argument.Type + ", default " + argument.Default
	}
	return argument.Type + ", optional"
}

// markdownReference is docs/markers.md.
func markdownReference(all []markers.Help) string {
	var out strings.Builder
	out.WriteString("# Markers\n\n" +
		"Markers are comments in Go code that say what to generate: `// +name`, `// +name=value` or `// +name:argument=value,argument=value`.\n" +
		"Lists are written `a;b` or `{a,b}`, and strings with blanks or punctuation go in quotes or backticks.\n\n" +
		"A marker describes the type or field below it: it stands in its comment, or in the comment above that. A marker that stands\n" +
		"free at the top level of a file describes the package. Markers behind code, inside of functions and behind the last field of\n" +
		"a struct describe nothing, and kctrl says so; only those of RBAC and webhooks may stand anywhere.\n\n" +
		"This page is what `kctrl explain --all --format markdown` prints. `kctrl explain <marker>` explains one.\n")
	for i, help := range all {
		if i == 0 || help.Group != all[i-1].Group {
			fmt.Fprintf(&out, "\n## %s\n", help.Group)
		}
		out.WriteString("\n" + markdownMarker(help, "###"))
	}
	return out.String()
}

// markdownList lists markers as a table.
func markdownList(all []markers.Help) string {
	var out strings.Builder
	for i, help := range all {
		if i == 0 || help.Group != all[i-1].Group {
			if i > 0 {
				out.WriteString("\n")
			}
			fmt.Fprintf(&out, "## %s\n\n| Marker | |\n|---|---|\n", help.Group)
		}
		fmt.Fprintf(&out, "| `+%s` | %s |\n", help.Name, cell(help.Summary))
	}
	return out.String()
}

// markdownMarker explains a marker under a heading.
func markdownMarker(help markers.Help, heading string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s `+%s`\n\n%s", heading, help.Name, prose(help.Summary))
	if help.Details != "" {
		fmt.Fprintf(&out, " %s", prose(help.Details))
	}
	if help.Instead != "" {
		fmt.Fprintf(&out, " Better use `+%s`.", help.Instead)
	}
	fmt.Fprintf(&out, "\n\nDescribes %s.", targetWords(help.Targets))
	if len(help.Arguments) == 1 && help.Arguments[0].Name == "" {
		fmt.Fprintf(&out, " Value: %s.", valueWords(help.Arguments[0]))
	}
	fmt.Fprintf(&out, "\n\n```go\n// %s\n```\n", help.Example)
	if len(help.Arguments) > 0 && help.Arguments[0].Name != "" {
		out.WriteString("\n| Argument | Type | |\n|---|---|---|\n")
		for _, argument := range help.Arguments {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", argument.Name, cell(valueWords(argument)), cell(argument.Summary))
		}
	}
	return out.String()
}

// cell spells text so that it does not end the cell of a table.
func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }

// prose spells text so that Markdown shows it as it is.
func prose(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
