package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/vet"
	rules "github.com/kctrl-dev/kctrl/vet"
)

type vetOptions struct {
	output   outputFormat
	fix      bool
	rules    bool
	tags     []string
	patterns []string
}

func newVetCommand(s *streams) *cobra.Command {
	var o vetOptions
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Find mistakes in reconcilers",
		Long: `Find mistakes in reconcilers that the compiler does not find, in kctrl and kubebuilder projects. The
command analyzes the types and the dataflow of the packages in its arguments, or of all packages in
the current module. It reports only mistakes that it can prove within the module.

The exit code is 1 if a rule reports a finding or a package does not compile; the command still
checks the other packages. A comment on the line of a finding, or on the line above, disables a rule
for that line:

  //kctrl:ignore RULE: REASON

The rules also run with go vet -vettool=$(which kctrl) ./..., and in golangci-lint.`,
		Example: `  kctrl vet
  kctrl vet ./internal/controller/...
  kctrl vet --fix
  kctrl vet -o github`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.patterns = args
			if o.rules {
				return printRules(s, o)
			}
			return runVet(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	addOutputFlag(flags, &o.output, outputText, outputJSON, outputSARIF, outputGitHub)
	flags.BoolVar(&o.fix, "fix", false, "apply the suggested fixes, and check again")
	flags.BoolVar(&o.rules, "rules", false, "list the rules with their reasons")
	flags.StringSliceVar(&o.tags, "tags", nil, "build `tags` that select files")
	return cmd
}

func printRules(s *streams, o vetOptions) error {
	if len(o.patterns) > 0 || o.fix {
		return usageError("--rules cannot be combined with packages or --fix")
	}
	if o.output == outputJSON {
		type rule struct {
			Name   string `json:"name"`
			Reason string `json:"reason"`
			Hint   string `json:"hint"`
		}
		all := []rule{}
		for _, r := range rules.Rules {
			all = append(all, rule{r.Name, r.Reason, r.Hint})
		}
		return printJSON(s, all)
	}
	for _, r := range rules.Rules {
		s.printf("%-20s %s\n", r.Name, r.Reason)
	}
	return nil
}

func runVet(ctx context.Context, s *streams, o vetOptions) error {
	dir, err := s.absolute()
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	options := vet.Options{Dir: dir, Patterns: o.patterns, Tags: o.tags}
	if o.fix {
		if err := fixVetted(ctx, s, options); err != nil {
			return err
		}
	}
	stop := showProgress(s)
	result, err := vet.Run(ctx, options)
	stop()
	if err != nil {
		return err
	}
	return printVetted(s, o, result)
}

func fixVetted(ctx context.Context, s *streams, o vet.Options) error {
	release, err := begin(ctx, s, s.dir, writes)
	if err != nil {
		return err
	}
	defer release()
	result, err := vet.Run(ctx, o)
	if err != nil {
		return err
	}
	fixes := plan.NewWithoutLock(os.DirFS(o.Dir))
	switch project, err := s.open(foreign(true)); {
	case err == nil:
		defer project.Close()
		if err := project.startPlan(); err != nil {
			return err
		}
		fixes = project.plan
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	n, err := result.Plan(o.Dir, fixes)
	if err != nil || n == 0 {
		return err
	}
	if err := applyPlan(ctx, s.dir, "kctrl vet", fixes); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "kctrl: corrected %s\n", plural(n, "finding"))
	return nil
}

// warnOfModules warns of modules in subdirectories, which a command does not read. It prints one warning for each of a
// few modules, and one for all of many.
func warnOfModules(s *streams, modules []string, done, command string) {
	if len(modules) > 3 {
		s.problem("warning: ", diagnostic.New(
			fmt.Sprintf("%d modules below were not %s: %s and %d more", len(modules), done,
				strings.Join(modules[:2], ", "), len(modules)-2),
			fmt.Sprintf("run kctrl %s -C DIRECTORY for each of them, such as -C %s", command, modules[0])))
		return
	}
	for _, module := range modules {
		s.problem("warning: ", diagnostic.In(module+"/go.mod", "another module, which was not "+done,
			"run kctrl "+command+" -C "+module))
	}
}

// printVetted prints the findings, and returns them as errors.
func printVetted(s *streams, o vetOptions, result *vet.Result) error {
	warnOfModules(s, result.Modules, "checked", "vet")
	for _, name := range result.Excluded {
		s.problem("warning: ", diagnostic.In(name, "not checked: excluded by build constraints",
			"select it with --tags, GOOS or CGO_ENABLED"))
	}
	errs := result.Problems
	for _, f := range result.Findings {
		errs = append(errs, f)
	}
	all := []finding{}
	for _, e := range errs {
		all = append(all, newFinding(e, severityError))
	}
	if o.output == outputText && len(errs) == 0 {
		s.printf("%s: no findings\n", plural(result.Packages, "package"))
	}
	return errors.Join(append(errs, printFound(s, o.output, all))...)
}

// vetTool reports whether the go command calls this program as the tool of go vet -vettool.
func vetTool(args []string) bool {
	switch {
	case len(args) == 1:
		return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[0], ".cfg")
	case len(args) > 1 && strings.HasSuffix(args[len(args)-1], "vet.cfg"):
		return strings.HasPrefix(args[0], "-")
	}
	return false
}

// runVetTool checks the package that the go command describes in a file, and then exits.
func runVetTool() { unitchecker.Main(rules.Analyzers...) }
