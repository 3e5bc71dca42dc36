package main

import (
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newRenameCommand(s *streams) *cobra.Command {
	cmd := newGroup("rename", "Rename a kind, version or group",
		"kctrl rename kind --group webapp --kind Guestbook --to Visitor; or version, group")
	for _, r := range renamings {
		cmd.AddCommand(newRenamingCommand(s, r))
	}
	return cmd
}

type renaming struct {
	use, short string
	plan       func(fs.FS, *project.Project, scaffold.RenameOptions) (*plan.Plan, error)
	flags      func(*pflag.FlagSet, *scaffold.RenameOptions)
}

var renamings = []renaming{
	{
		use: "kind --group webapp --kind Guestbook --to Visitor", short: "Rename a kind in all versions",
		plan: scaffold.PlanRenameKind,
		flags: func(flags *pflag.FlagSet, o *scaffold.RenameOptions) {
			flags.StringVar(&o.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
			flags.StringVar(&o.Plural, "plural", "", "new name of the resource (default: the English plural of the new kind)")
		},
	},
	{
		use: "version --group webapp --version v1alpha1 --to v1beta1", short: "Rename a version of a group",
		plan: scaffold.PlanRenameVersion,
		flags: func(flags *pflag.FlagSet, o *scaffold.RenameOptions) {
			flags.StringVar(&o.Version, "version", "", "version to rename, such as v1alpha1 (required)")
		},
	},
	{use: "group --group webapp --to web", short: "Rename a group", plan: scaffold.PlanRenameGroup},
}

func newRenamingCommand(s *streams, r renaming) *cobra.Command {
	var opts scaffold.RenameOptions
	name, _, _ := strings.Cut(r.use, " ")
	write := writeOptions{command: "kctrl rename " + name}
	cmd := &cobra.Command{
		Use:   r.use,
		Short: r.short,
		Long: r.short + `. The command also renames files, and updates Go names, imports, markers,
manifests and samples. It changes strings only in its own files, and in Go files that import a
Kubernetes API. It keeps your edits. If a patch or another entry of a kustomization in config no
longer applies, the command reports its line and changes nothing; with --force, it only warns.

API servers treat the new name as a new API, and do not move existing objects to it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl = kctrlBuild()
			return s.change(cmd.Context(), write, project.Load, func(p *openedProject) (err error) {
				opts.Base = history(cmd.Context(), p.dir)
				if p.plan, err = r.plan(p.fsys, p.Project, opts); err != nil {
					return err
				}
				return p.regenerate(cmd.Context(), opts.Force)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "", "API group, without the project's domain")
	flags.StringVar(&opts.To, "to", "", "new `name` (required)")
	if r.flags != nil {
		r.flags(flags, &opts)
	}
	flags.BoolVar(&opts.Force, "force", false, "write conflicts to the files, with git's conflict markers")
	write.addFlags(flags)
	return cmd
}
