package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/lint"
)

// allowSARIF adds "sarif" to the values of the command's existing flag -o.
func allowSARIF(flags *pflag.FlagSet, format *outputFormat) {
	flag := flags.Lookup("output")
	flag.Value = formatFlag{format, []outputFormat{outputText, outputJSON, outputSARIF}}
	flag.Usage = "output format: `text|json|sarif`; json and sarif include findings"
}

// finding is the JSON form of a problem, for -o json.
type finding struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Code     string `json:"code,omitempty"`
	Severity string `json:"severity"`
}

// These are the severities of findings, with the names that SARIF defines.
const (
	severityError   = "error"
	severityWarning = "warning"
)

func newFinding(err error, severity string) finding {
	d, ok := errors.AsType[*diagnostic.Error](err)
	if !ok {
		return finding{Message: err.Error(), Severity: severity}
	}
	return finding{
		File: d.Pos.Filename, Line: d.Pos.Line, Column: d.Pos.Column,
		Message: d.Message, Hint: d.Hint, Code: d.Code, Severity: severity,
	}
}

// runGenerate runs the generators that the options select, and reports findings in the selected output format.
func runGenerate(ctx context.Context, s *streams, o generateOptions) error {
	if o.fix && o.write.check {
		return usageError("--fix and --check cannot be combined")
	}
	if o.watch {
		return watchProject(ctx, s, o)
	}
	var found []finding
	o.Warn = func(f lint.Finding) {
		s.problem("warning: ", f.Error)
		found = append(found, newFinding(f.Error, severityWarning))
	}
	inner := *s
	if o.write.output == outputSARIF {
		inner.out = io.Discard
	}
	err := generateProject(ctx, &inner, o)
	drift := errors.Is(err, diagnostic.ErrDrift)
	for _, e := range diagnostic.All(err) {
		found = append(found, newFinding(e, severityError))
	}
	if o.write.output == outputSARIF || err != nil && !drift {
		return errors.Join(err, printFound(s, o.write.output, found))
	}
	return err
}

// printFound prints findings in a format for other programs. It prints nothing as text.
func printFound(s *streams, format outputFormat, found []finding) error {
	switch format {
	case outputJSON:
		return printDiagnostics(s.out, found)
	case outputSARIF:
		return printSARIF(s.out, found)
	case outputGitHub:
		printAnnotations(s, found)
	}
	return nil
}

// printDiagnostics prints findings in the format of -o json.
func printDiagnostics(out io.Writer, found []finding) error {
	return encodeJSON(out, struct {
		Diagnostics []finding `json:"diagnostics"`
	}{found})
}

func encodeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
