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
		Short: "Change the settings chosen at init",
		Long: `Change the settings chosen at init. The command moves files, updates references to them, and keeps
your edits. If it must change lines that you edited, it lists the conflicts and writes nothing;
--force writes both versions of these lines with git's conflict markers, and exits with code 3.

If a patch or another entry of a kustomization in config no longer applies, the command reports its
line and changes nothing; with --force, it only warns.

A new project name also changes the namespace and the names of deployed objects. The command follows
in kustomizations, flags and Go code, and lists the lines of other text that contain an old name.

Each flag changes one setting. Boolean flags can revert a setting, such as --multigroup=false.`,
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
		{"multigroup", &opts.MultiGroup, "use one directory per API group; false for a single group"},
		{"namespaced", &opts.Namespaced, "limit the operator to its own namespace; false for the whole cluster"},
		{"api-module", &opts.APIModule, "separate Go module for the API types; false for a single module"},
		{"domain", &opts.Domain, "domain suffix of API groups"},
		{"repo", &opts.Repo, "`path` of the Go module"},
		{"project-name", &opts.ProjectName, "name prefix of deployed objects"},
		{"owner", &opts.Owner, "copyright holder"},
		{"license", &opts.License, "license header of Go files: `apache2|none`"},
		{"certificates", &opts.Certificates, "issuer of the webhook certificates: `self-signed|cert-manager`"},
		{"enable", &enable, "comma-separated `components` to add to config/default, such as network-policy,prometheus"},
		{"disable", &disable, "comma-separated `components` to remove from config/default"},
	} {
		addOption(flags, option.name, option.to, option.usage)
	}
	flags.BoolVar(&opts.Force, "force", false, "write conflicts to the files, with git's conflict markers")
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
			return usageError("--enable and --disable both have " + diagnostic.Quote(feature))
		}
		opts.Features[strings.TrimSpace(feature)] = true
	}
	if opts.IsZero() {
		return diagnostic.Usage("edit needs a flag",
			"kctrl edit --multigroup, --namespaced, --license none, --enable network-policy, or another flag")
	}
	return s.change(ctx, write, project.Load, func(p *openedProject) (err error) {
		opts.Base = history(ctx, p.dir)
		if p.plan, err = scaffold.PlanEdit(p.fsys, p.Project, opts); err != nil {
			return err
		}
		return p.regenerate(ctx, opts.Force)
	})
}
