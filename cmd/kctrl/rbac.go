package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/rbac"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

type rbacOptions struct {
	write    writeOptions
	edit     bool
	patterns []string
}

func newRBACCommand(s *streams) *cobra.Command {
	o := rbacOptions{write: writeOptions{command: "kctrl rbac"}}
	cmd := &cobra.Command{
		Use:   "rbac [PACKAGE...]",
		Short: "Compare RBAC markers with the code",
		Long: `Derive from the code which requests the operator sends to the API server, and compare them with the
permissions that the +kubebuilder:rbac markers grant, and with the roles that config/ binds to
service accounts. The analysis follows the call graph from main, in kctrl and kubebuilder projects.
Each finding belongs to one of these classes:

  missing    a reached call needs a permission that nothing grants
  excess     a marker grants a permission that no reached call needs
  unproven   kctrl cannot decide, for example because a kind is known only at run time
  note       a marker can list the names of the objects, because all requests use constant names

The report has the call, the chain of calls from main, and the kind of role that the call needs. A
permission to get objects is not excess if the operator needs list, which returns the same objects.

A comment //kctrl:ignore rbac: REASON above a marker or a call exempts it. Arguments are package
patterns as for the go command; without arguments, kctrl analyzes the programs that run a manager.`,
		Example: `  kctrl rbac
  kctrl rbac --check
  kctrl rbac --write --diff`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.patterns = args
			return runRBAC(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.edit, "write", false, "add missing permissions to the markers, and remove permissions in excess")
	flags.BoolVar(&o.write.check, "check", false, "exit with code 3 if a permission is missing or in excess")
	o.write.addFlags(flags)
	return cmd
}

func (o rbacOptions) validate() error {
	switch {
	case o.edit && o.write.check:
		return usageError("--write and --check cannot be combined")
	case !o.edit && (o.write.dryRun || o.write.diff):
		return usageError("--dry-run and --diff need --write")
	}
	return nil
}

func runRBAC(ctx context.Context, s *streams, o rbacOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	return s.locked(ctx, access(o.edit && !o.write.dryRun), s.anyProject, func(p *openedProject) error {
		stop := showProgress(s)
		report, err := rbac.Check(ctx, rbacCheck(p, o.patterns))
		stop()
		if err != nil {
			return err
		}
		for _, problem := range report.Problems {
			s.problem("warning: ", problem)
		}
		warnOfModules(s, report.Modules, "analyzed", "rbac")
		if o.edit {
			return writeMarkers(ctx, s, o, p, report)
		}
		if o.write.output == outputJSON {
			err = encodeJSON(s.out, newRBACReport(report))
		} else {
			printRBAC(s, report)
		}
		return errors.Join(err, o.drift(report))
	})
}

// anyProject is the opener for projects of kctrl and of any version of kubebuilder, and for other Go modules.
func (s *streams) anyProject(fsys fs.FS) (*project.Project, error) {
	proj, err := project.LoadForeign(fsys, true)
	text, _ := os.ReadFile(filepath.Join(s.dir, project.File)) // err is about an unreadable file
	if errors.Is(err, fs.ErrNotExist) || err != nil && project.IsPeer(text) {
		return nil, nil
	}
	return proj, err
}

// rbacCheck returns the options of a check of a project.
func rbacCheck(p *openedProject, patterns []string) rbac.Options {
	o := rbac.Options{Dir: p.dir, FS: p.fsys, Patterns: patterns, Cache: incremental.UserStore()}
	if p.Project != nil {
		o.Namespaced = p.Namespaced
	}
	return o
}

// drift returns the error that --check reports for missing permissions and permissions in excess, or nil.
func (o rbacOptions) drift(report *rbac.Report) error {
	missing, excess := report.Count(rbac.Missing), report.Count(rbac.Excess)
	if !o.write.check || missing+excess == 0 {
		return nil
	}
	return &diagnostic.Error{
		Message: "the markers do not match the code: " + rbacCounts(report),
		Hint:    "run kctrl rbac --write, and review the change",
		Class:   diagnostic.ErrDrift,
	}
}

// rbacCounts returns the number of findings in each class, as text.
func rbacCounts(report *rbac.Report) string {
	return fmt.Sprintf("%d missing, %d in excess, %d unproven",
		report.Count(rbac.Missing), report.Count(rbac.Excess), report.Count(rbac.Unproven))
}

// printRBAC prints the findings with their call chains.
func printRBAC(s *streams, report *rbac.Report) {
	for _, f := range report.Findings {
		s.printf("%s: %s: %s\n", f.Pos, f.Class, diagnostic.OneLine(f.Message))
		if len(f.Sites) > 0 {
			for _, frame := range f.Sites[0].Chain {
				s.printf("    %s %s\n", frame.Pos, frame.Func)
			}
		}
		if f.Hint != "" {
			s.printf("    hint: %s\n", diagnostic.OneLine(f.Hint))
		}
	}
	s.printf("%s of %s: %s\n", plural(report.Rules, "marker"), programs(report.Roots), rbacCounts(report))
}

func programs(roots []string) string {
	if len(roots) == 0 {
		return "a library without a program"
	}
	return strings.Join(roots, ", ")
}

// writeMarkers changes the markers, and generates the role from them.
func writeMarkers(ctx context.Context, s *streams, o rbacOptions, p *openedProject, report *rbac.Report) error {
	if err := p.startPlan(); err != nil {
		return err
	}
	files, err := rbac.Edit(report, p.plan.Read)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := p.plan.Edit(name, files[name]); err != nil {
			return err
		}
	}
	if p.Project != nil && len(files) > 0 && hasRole(p.fsys) {
		only := generate.Named(func(g generator.Generator) bool { return g.Name == "rbac" })
		if err := p.generate(ctx, generate.Options{Generators: only}); err != nil {
			return err
		}
	}
	return finishPlan(ctx, s, o.write, p.plan)
}

// hasRole reports whether the project has a directory for the role that kctrl manifests generates.
func hasRole(fsys fs.FS) bool {
	info, err := fs.Stat(fsys, "config/rbac")
	return err == nil && info.IsDir()
}

// rbacReport is the JSON output of rbac.
type rbacReport struct {
	Programs []string      `json:"programs"`
	Findings []rbacFinding `json:"findings"`
	Needs    []rbacNeed    `json:"needs"`
	Skipped  []finding     `json:"skipped"`
}

type rbacFinding struct {
	Class   rbac.Class `json:"class"`
	File    string     `json:"file"`
	Line    int        `json:"line"`
	Column  int        `json:"column"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
	rbacPermission
	More  []rbacPermission `json:"more,omitempty"`
	Role  string           `json:"role,omitempty"`
	Calls []rbacCall       `json:"calls,omitempty"`
}

// rbacPermission is a resource with verbs. The resource is empty if it is not known.
type rbacPermission struct {
	Group    string   `json:"group"`
	Resource string   `json:"resource,omitempty"`
	Verbs    []string `json:"verbs"`
}

type rbacCall struct {
	Call  string      `json:"call"`
	Chain []rbacFrame `json:"chain"`
}

type rbacFrame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

type rbacNeed struct {
	Group         string   `json:"group"`
	Resource      string   `json:"resource"`
	Verbs         []string `json:"verbs"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Role          string   `json:"role"`
}

func newRBACReport(report *rbac.Report) rbacReport {
	r := rbacReport{Programs: report.Roots, Findings: []rbacFinding{}, Needs: []rbacNeed{}, Skipped: []finding{}}
	for _, f := range report.Findings {
		found := rbacFinding{
			Class: f.Class, File: f.Pos.Filename, Line: f.Pos.Line, Column: f.Pos.Column, Message: f.Message, Hint: f.Hint,
			rbacPermission: rbacPermission{f.Resource.Group, f.Resource.Name, f.Verbs}, Role: f.Role,
		}
		for _, p := range f.More {
			found.More = append(found.More, rbacPermission{p.Resource.Group, p.Resource.Name, p.Verbs})
		}
		for _, site := range f.Sites {
			call := rbacCall{Call: site.Call}
			for _, frame := range site.Chain {
				call.Chain = append(call.Chain, rbacFrame{frame.Func, frame.Pos.Filename, frame.Pos.Line})
			}
			found.Calls = append(found.Calls, call)
		}
		r.Findings = append(r.Findings, found)
	}
	for _, n := range report.Needs {
		r.Needs = append(r.Needs, rbacNeed{n.Resource.Group, n.Resource.Name, n.Verbs, n.Names, n.Role})
	}
	for _, problem := range report.Problems {
		r.Skipped = append(r.Skipped, newFinding(problem, severityWarning))
	}
	return r
}
