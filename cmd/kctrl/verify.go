package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/verify"
	"github.com/kctrl-dev/kctrl/internal/verify/convention"
)

type verifyOptions struct {
	output       outputFormat
	conventions  bool
	fix          bool
	disabled     []string
	allowUnknown []string
	names        []string
}

func newVerifyCommand(s *streams) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [DIR | FILE...]",
		Short: "Check CRDs and samples without a cluster",
		Long: `Check CRDs without a cluster, with the API server libraries of Kubernetes ` + verifiedKubernetes() + `.
The checks cover names, versions, structural schemas, defaults, list types, CEL validation rules
and their cost, printer columns, selectable fields, subresources, conversion and size. The command
also checks the objects in config/samples and in the given files against the CRDs.

Without an argument, the command checks the Go packages and the YAML files in the current
directory. It works in any Go module, and in directories without Go code. Each finding has the
position of the Go field or marker, or the line in the YAML file.

The exit code is 1 if an API server would reject an object. Warnings are about parts that API
servers accept but that have no effect. --disable skips findings by code; -o json prints the codes.

--conventions adds warnings about Go types that violate the Kubernetes API conventions:
` + conventionList(),
		Example: `  kctrl verify
  kctrl verify config/crd/bases
  kctrl verify config/crd/bases config/samples -o github`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return runVerify(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	addOutputFlag(flags, &o.output, outputText, outputJSON, outputSARIF, outputGitHub)
	flags.BoolVar(&o.conventions, "conventions", false, "also check Go types against the Kubernetes API conventions")
	flags.BoolVar(&o.fix, "fix", false, "correct misspelled markers if only one correction is possible, and check again")
	flags.StringSliceVar(&o.disabled, "disable", nil, "`codes` of findings to skip")
	flags.StringSliceVar(&o.allowUnknown, "allow-unknown", nil, "accept unknown markers with this `prefix`")
	return cmd
}

// conventionList lists the rules of --conventions, each on a new line.
func conventionList() string {
	var list strings.Builder
	for _, rule := range convention.Rules {
		fmt.Fprintf(&list, "\n  %-26s %s", rule.Code, rule.Help)
	}
	return list.String()
}

// verifiedKubernetes returns the minor version of the Kubernetes libraries in kctrl.
func verifiedKubernetes() string {
	const linked = "1.37"
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if minor, found := strings.CutPrefix(dep.Version, "v0."); found && dep.Path == "k8s.io/apiextensions-apiserver" {
				minor, _, _ = strings.Cut(minor, ".")
				return "1." + minor
			}
		}
	}
	return linked
}

func runVerify(ctx context.Context, s *streams, o verifyOptions) error {
	dir, err := s.absolute()
	if err != nil {
		return err
	}
	if o.fix {
		if err := fixMarkers(ctx, s, o); err != nil {
			return err
		}
	}
	options := verify.Options{
		Dir: dir, Names: o.names, AllowUnknown: o.allowUnknown, Conventions: o.conventions, Disabled: o.disabled,
		Cache: incremental.UserStore(),
	}
	project, err := s.open(foreign(true))
	switch {
	case err == nil:
		defer project.Close()
		options.FS, options.Project = project.fsys, project.Project
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	stop := showProgress(s)
	result, err := verify.Run(ctx, options)
	stop()
	if err != nil {
		return err
	}
	return printVerified(s, o, result)
}

// fixMarkers corrects misspelled markers in the Go source of the directory if only one correction is possible.
func fixMarkers(ctx context.Context, s *streams, o verifyOptions) error {
	return s.locked(ctx, writes, foreign(true), func(p *openedProject) error {
		if err := p.startPlan(); err != nil {
			return err
		}
		if err := generate.Fix(ctx, p.dir, p.plan, generate.Options{AllowUnknown: o.allowUnknown}); err != nil {
			return err
		}
		return applyPlan(ctx, s.dir, "kctrl verify", p.plan)
	})
}

// printVerified prints the findings, and returns the errors among them.
func printVerified(s *streams, o verifyOptions, result *verify.Result) error {
	var errs []error
	all := []finding{}
	for _, f := range result.Findings {
		severity := severityError
		if f.Warning {
			severity = severityWarning
			s.problem("warning: ", f.Error)
		} else {
			errs = append(errs, f.Error)
		}
		all = append(all, newFinding(f.Error, severity))
	}
	if o.output == outputText && len(errs) == 0 {
		s.printf("%s: API servers of Kubernetes %s accept them\n", counted(result), verifiedKubernetes())
	}
	return errors.Join(append(errs, printFound(s, o.output, all))...)
}

// counted returns the numbers of checked objects.
func counted(result *verify.Result) string {
	text := plural(result.CRDs, "CRD")
	if result.Objects > 0 {
		text += " and " + plural(result.Objects, "object")
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printAnnotations prints findings as GitHub Actions commands, so that GitHub displays them next to the source code.
func printAnnotations(s *streams, found []finding) {
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range found {
		var properties []string
		add := func(name, value string) { properties = append(properties, name+"="+property.Replace(value)) }
		if f.File != "" {
			add("file", f.File)
		}
		if f.Line > 0 {
			add("line", fmt.Sprint(f.Line))
		}
		if f.Column > 0 {
			add("col", fmt.Sprint(f.Column))
		}
		if f.Code != "" {
			add("title", f.Code)
		}
		text := f.Message
		if f.Hint != "" {
			text += "\nhint: " + f.Hint
		}
		s.printf("::%s %s::%s\n", f.Severity, strings.Join(properties, ","), message.Replace(text))
	}
}
