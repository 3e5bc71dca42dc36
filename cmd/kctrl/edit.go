package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func newEditCommand(s *streams) *cobra.Command {
	var domain, repo, name, owner, license, certificates string
	var multigroup, namespaced, apiModule, force bool
	var enable, disable []string
	write := writeOptions{command: "kctrl edit"}
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Change what kctrl init was told: layout, scope, names, license, features",
		Long: `Change what kctrl init was told. Files move, imports and all else that names them follow by syntax, and what you have written
stays: the project then is as one that was made so, with your edits. Where kctrl and you have changed the same lines, nothing is
written and the line is named, unless --force, which writes both between the conflict markers of git.

Each flag may be given alone; --multigroup=false and so on go back.`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.BoolVar(&multigroup, "multigroup", false, "give every API group its own folders; false: one group, without")
	flags.BoolVar(&namespaced, "namespaced", false, "limit the operator to the namespace it runs in; false: do not")
	flags.BoolVar(&apiModule, "api-module", false, "make api a Go module of its own, for those who import the types without what the operator requires; false: one module")
	flags.StringVar(&domain, "domain", "", "what the API groups end in")
	flags.StringVar(&repo, "repo", "", "`path` of the Go module")
	flags.StringVar(&name, "project-name", "", "what the names of everything deployed begin with")
	flags.StringVar(&owner, "owner", "", "who holds the copyright")
	flags.StringVar(&license, "license", "", "header of Go files: `apache2|none`")
	flags.StringVar(&certificates, "certificates", "", "who makes the certificates of the webhooks: `self-signed|cert-manager`")
	flags.StringSliceVar(&enable, "enable", nil, "comma-separated `features` to deploy: what config/components has, such as network-policy,prometheus")
	flags.StringSliceVar(&disable, "disable", nil, "comma-separated `features` to deploy no more")
	flags.BoolVar(&force, "force", false, "write conflicts between the markers of git instead of refusing")
	write.addFlags(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts := scaffold.EditOptions{Force: force, Kctrl: kctrlBuild(), Year: time.Now().Year()}
		asked := false
		given := func(name string) bool {
			asked = asked || flags.Changed(name)
			return flags.Changed(name)
		}
		for _, set := range []struct {
			name  string
			value *string
			to    **string
		}{
			{"domain", &domain, &opts.Domain}, {"repo", &repo, &opts.Repo}, {"project-name", &name, &opts.ProjectName}, {"owner", &owner, &opts.Owner},
			{"license", &license, &opts.License}, {"certificates", &certificates, &opts.Certificates},
		} {
			if given(set.name) {
				*set.to = set.value
			}
		}
		if given("multigroup") {
			opts.MultiGroup = &multigroup
		}
		if given("namespaced") {
			opts.Namespaced = &namespaced
		}
		if given("api-module") {
			opts.APIModule = &apiModule
		}
		opts.Features = map[string]bool{}
		for _, feature := range disable {
			opts.Features[strings.TrimSpace(feature)] = false
		}
		for _, feature := range enable {
			if _, twice := opts.Features[strings.TrimSpace(feature)]; twice {
				return usageError("--enable and --disable both name " + diagnostic.Quote(feature))
			}
			opts.Features[strings.TrimSpace(feature)] = true
		}
		if !asked && len(opts.Features) == 0 {
			return &diagnostic.Error{
				Message: "edit needs to know what to change", Hint: "kctrl edit --multigroup, --namespaced, --license none, --enable network-policy or others",
				Class: diagnostic.ErrUsage,
			}
		}
		return runDelete(cmd.Context(), s, write, func(p *openedProject) (*plan.Plan, error) {
			opts.Base = history(cmd.Context(), p.dir)
			return scaffold.PlanEdit(p.fsys, p.Project, opts)
		})
	}
	return cmd
}
