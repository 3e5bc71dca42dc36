package main

import (
	"bytes"
	"context"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newInitCommand(s *streams) *cobra.Command {
	var opts scaffold.InitOptions
	write := writeOptions{command: "kctrl init"}
	var runtimeMode string
	cmd := &cobra.Command{
		Use:   "init --domain example.com --repo example.com/guestbook",
		Short: "Start a project in this directory",
		Long: `Start a project in this directory. The command writes a manager without controllers, and the files to
build, test and deploy it.

The directory may already contain .git, LICENSE, README.md, a new go.mod and dot files. It may also
be a Go module with code: kctrl then adds missing files and requirements, keeps all existing files,
and lists the existing files whose content differs from kctrl's. --dry-run --diff previews the
changes.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Runtime = project.RuntimeMode(runtimeMode)
			opts.Year = time.Now().Year()
			opts.Kctrl = kctrlBuild()
			return runInit(cmd.Context(), s, opts, write)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Domain, "domain", "", "domain suffix of API groups, such as example.com (required)")
	flags.StringVar(&opts.Repo, "repo", "", "`path` of the Go module (default: from the existing go.mod)")
	flags.StringVar(&opts.ProjectName, "project-name", "",
		"name prefix of deployed objects (default: the last element of --repo)")
	flags.StringVar(&opts.Owner, "owner", "", "copyright holder")
	flags.StringVar(&opts.License, "license", "apache2", "license header of Go files: `apache2|none`")
	flags.BoolVar(&opts.MultiGroup, "multigroup", false, "use one directory per API group")
	flags.BoolVar(&opts.Namespaced, "namespaced", false, "limit the operator to its own namespace")
	flags.BoolVar(&opts.APIModule, "api-module", false, "separate Go module for the API types, with few dependencies")
	flags.StringVar(&runtimeMode, "runtime", "",
		"source of the runtime: `bundled|module` (default: module if this kctrl is a release, otherwise bundled)")
	write.addFlags(flags)
	return cmd
}

func runInit(ctx context.Context, s *streams, opts scaffold.InitOptions, write writeOptions) error {
	return s.change(ctx, write, anyDirectory, func(p *openedProject) (err error) {
		if p.plan, err = scaffold.PlanInit(p.fsys, opts); err != nil {
			return err
		}
		p.next = []string{"kctrl create api --group webapp --version v1 --kind Guestbook --resource --controller"}
		if change, err := p.plan.Lookup("go.mod"); err == nil && bytes.Contains(change.Before, []byte("require")) {
			p.next = append([]string{"go mod tidy"}, p.next...)
		}
		return nil
	})
}

// kctrlBuild returns the version and the checksum of this kctrl, so that a project can require it.
func kctrlBuild() project.Build {
	build := project.Build{Version: "(devel)"}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		build.Version, build.Sum = info.Main.Version, info.Main.Sum
	}
	return build
}
