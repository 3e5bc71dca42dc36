package main

import (
	"encoding/json"
	"strings"
	"text/tabwriter"

	"fmt"

	"sigs.k8s.io/controller-tools/pkg/genall/help"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
)

// The numbers of -w or -h for details, all details and JSON.
const (
	detailedHelp = 2
	fullHelp     = 3
	jsonHelp     = 4
)

func printOptionHelp(s *streams, level int) error {
	options, err := compat.OptionHelp()
	if err != nil {
		return err
	}
	return printHelp(s, level, "", options)
}

func printMarkerHelp(s *streams, level int, args []string) error {
	markers, err := compat.MarkerHelp(args)
	if err != nil {
		return err
	}
	return printHelp(s, level, "+", markers)
}

// printHelp prints the documentation of markers, or of options, which are markers without the leading sign.
func printHelp(s *streams, level int, sign string, categories []help.CategoryDoc) error {
	if level >= jsonHelp {
		return json.NewEncoder(s.out).Encode(categories)
	}
	for _, category := range categories {
		if category.Category == "" {
			continue
		}
		s.printf("%s\n\n", category.Category)
		table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		for _, marker := range category.Markers {
			if level < detailedHelp {
				fmt.Fprintf(table, "  %s%s\t%s\t%s\n", sign, syntax(marker), marker.Target, summary(marker))
				continue
			}
			printDetails(s, level, sign, marker)
		}
		table.Flush()
		s.printf("\n")
	}
	return nil
}

func printDetails(s *streams, level int, sign string, marker help.MarkerDoc) {
	s.printf("  %s%s  (%s)\n      %s\n", sign, syntax(marker), marker.Target, summary(marker))
	if level >= fullHelp && marker.Details != "" {
		s.printf("%s\n", indent(marker.Details, 6))
	}
	for _, field := range marker.Fields {
		if field.Name == "" {
			continue
		}
		s.printf("      %s  %s\n", argument(field), field.Summary)
		if level >= fullHelp && field.Details != "" {
			s.printf("%s\n", indent(field.Details, 10))
		}
	}
	s.printf("\n")
}

// summary returns the summary of a marker. For a deprecated marker, it begins with the replacement.
func summary(marker help.MarkerDoc) string {
	if marker.DeprecatedInFavorOf == nil {
		return marker.Summary
	}
	if *marker.DeprecatedInFavorOf == "" {
		return "(deprecated) " + marker.Summary
	}
	return "(use " + *marker.DeprecatedInFavorOf + ") " + marker.Summary
}

// syntax returns the syntax of a marker with its arguments.
func syntax(marker help.MarkerDoc) string {
	var text strings.Builder
	text.WriteString(marker.Name)
	separator := ":"
	for _, field := range marker.Fields {
		if field.Name != "" {
			text.WriteString(separator)
		}
		text.WriteString(argument(field))
		separator = ","
	}
	return text.String()
}

func argument(field help.FieldHelp) string {
	text := field.Name + "=<" + field.TypeString() + ">"
	if field.Optional {
		return "[" + text + "]"
	}
	return text
}

func indent(text string, spaces int) string {
	margin := strings.Repeat(" ", spaces)
	return margin + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+margin)
}
