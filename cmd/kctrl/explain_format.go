package main

import (
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// targetWords returns the targets of a marker.
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
		fmt.Fprintf(&out, "  Use +%s instead.\n", help.Instead)
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

// valueWords returns the type and the default of an argument.
func valueWords(argument markers.ArgumentHelp) string {
	switch {
	case argument.Required:
		return argument.Type
	case argument.Default != "":
		return argument.Type + ", default " + argument.Default
	}
	return argument.Type + ", optional"
}

// itemsPrefix is the prefix of markers that repeat another marker for the items of a list.
const itemsPrefix = "kubebuilder:validation:items:"

// markdownReference returns the content of docs/markers.md.
func markdownReference(all []markers.Help) string {
	var out strings.Builder
	out.WriteString("# Markers\n\n" +
		"Markers are comments in Go code that control generators: `// +name`, `// +name=value` or `// " +
		"+name:argument=value,argument=value`.\n" +
		"Write lists as `a;b` or `{a,b}`, and put strings with spaces or punctuation in quotes or backticks.\n\n" +
		"A marker applies to the package, type or field below it.\n" +
		"Write the marker in the comment of the type or field, or in the comment above that comment.\n" +
		"A marker in a separate comment at the top level of a file applies to the package.\n" +
		"kctrl rejects markers in other places, such as the comment of a function.\n\n" +
		"`kctrl explain --all --format markdown` prints this page, and `kctrl explain <marker>` explains one marker.\n")
	for i, help := range all {
		first := i == 0 || help.Group != all[i-1].Group
		if first {
			fmt.Fprintf(&out, "\n## %s\n", help.Group)
		}
		if !strings.HasPrefix(help.Name, itemsPrefix) {
			out.WriteString("\n" + markdownMarker(help, "###"))
			continue
		}
		if first {
			out.WriteString("\nEach of these markers applies the marker of the same name to the items of a list:\n\n")
		}
		fmt.Fprintf(&out, "- `+%s`\n", help.Name)
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
	text := prose(help.Summary)
	if help.Details != "" {
		text += " " + prose(help.Details)
	}
	if help.Instead != "" {
		text += " Use `+" + help.Instead + "` instead."
	}
	fmt.Fprintf(&out, "%s `+%s`\n\n%s\n\n", heading, help.Name, sentences(text))
	fmt.Fprintf(&out, "%s on %s", codeSpan(help.Example), strings.Join(help.Targets, ", "))
	if len(help.Arguments) == 1 && help.Arguments[0].Name == "" {
		fmt.Fprintf(&out, " (%s)", valueWords(help.Arguments[0]))
	}
	out.WriteString("\n")
	if len(help.Arguments) > 0 && help.Arguments[0].Name != "" {
		out.WriteString("\n")
		for _, argument := range help.Arguments {
			fmt.Fprintf(&out, "- `%s` (%s): %s\n", argument.Name, prose(valueWords(argument)), prose(argument.Summary))
		}
	}
	return out.String()
}

func codeSpan(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// sentences puts each sentence of text on its own line.
func sentences(text string) string {
	return regexp.MustCompile(`([.:]) ([A-Z])`).ReplaceAllString(text, "$1\n$2")
}

// cell escapes text for the cell of a table.
func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }

// prose escapes text for Markdown.
func prose(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
