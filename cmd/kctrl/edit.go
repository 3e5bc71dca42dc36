package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newEditCommand(s *streams) *cobra.Command {
	var opts scaffold.EditOptions
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl, opts.Year = kctrlBuild(), time.Now().Year()
			return runEdit(cmd.Context(), s, write, opts, enable, disable)
		},
	}
	flags := cmd.Flags()
	for _, option := range []struct {
		name  string
		to    any
		usage string
	}{
		{"multigroup", &opts.MultiGroup, "give every API group its own folders; false: one group, without"},
		{"namespaced", &opts.Namespaced, "limit the operator to the namespace it runs in; false: do not"},
		{
			"api-module", &opts.APIModule,
			"make api a Go module of its own, for those who import the types without what the operator requires; false: one module",
		},
		{"domain", &opts.Domain, "what the API groups end in"},
		{"repo", &opts.Repo, "`path` of the Go module"},
		{"project-name", &opts.ProjectName, "what the names of everything deployed begin with"},
		{"owner", &opts.Owner, "who holds the copyright"},
		{"license", &opts.License, "header of Go files: `apache2|none`"},
		{"certificates", &opts.Certificates, "who makes the certificates of the webhooks: `self-signed|cert-manager`"},
		{
			"enable", &enable,
			"comma-separated `features` to deploy: what config/components has, such as network-policy,prometheus",
		},
		{"disable", &disable, "comma-separated `features` to deploy no more"},
	} {
		addOption(flags, option.name, option.to, option.usage)
	}
	flags.BoolVar(&opts.Force, "force", false, "write conflicts between the markers of git instead of refusing")
	write.addFlags(flags)
	return cmd
}

func runEdit(
	ctx context.Context, s *streams, write writeOptions, opts scaffold.EditOptions, enable, disable []string,
) error {
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
	if opts.IsZero() {
		return &diagnostic.Error{
			Message: "edit needs to know what to change",
			Hint:    "kctrl edit --multigroup, --namespaced, --license none, --enable network-policy or others",
			Class:   diagnostic.ErrUsage,
		}
	}
	return s.change(ctx, write, project.Load, func(p *openedProject) (err error) {
		opts.Base = history(ctx, p.dir)
		if p.plan, err = scaffold.PlanEdit(p.fsys, p.Project, opts); err != nil {
			return err
		}
		return p.regenerate(ctx)
	})
}
