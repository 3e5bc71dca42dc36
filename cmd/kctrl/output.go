package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// outputFormat is the value of -o. Each command accepts some of the formats.
type outputFormat string

const (
	outputText     outputFormat = "text"
	outputJSON     outputFormat = "json"
	outputSARIF    outputFormat = "sarif"    // for commands that report problems in source code
	outputGitHub   outputFormat = "github"   // annotations for GitHub Actions
	outputMarkdown outputFormat = "markdown" // for comments on pull requests
	outputJUnit    outputFormat = "junit"    // for CI systems' test reports
	outputHTML     outputFormat = "html"
)

// addOutputFlag adds -o with the formats of a command. The first one is the default.
func addOutputFlag(flags *pflag.FlagSet, to *outputFormat, formats ...outputFormat) {
	f := formatFlag{to, formats}
	*to = formats[0]
	flags.VarP(f, "output", "o", "output format: `"+strings.Join(f.names(), "|")+"`")
}

// formatFlag is a flag for one of several formats.
type formatFlag struct {
	to      *outputFormat
	formats []outputFormat
}

func (f formatFlag) names() []string {
	var names []string
	for _, format := range f.formats {
		names = append(names, string(format))
	}
	return names
}

// String returns the format as the flag accepts it.
func (f formatFlag) String() string { return string(*f.to) }

// Set accepts the formats of the flag.
func (f formatFlag) Set(value string) error {
	if !slices.Contains(f.formats, outputFormat(value)) {
		return usageError("want " + alternatives(f.names()))
	}
	*f.to = outputFormat(value)
	return nil
}

// Type returns the type of the flag, for pflag.
func (formatFlag) Type() string { return "format" }

// alternatives returns two or more words as "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
