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
		Short: "Start a project in this folder",
		Long: `Start a project in this folder: a manager without controllers, and all that is needed to build, test and deploy it.

The folder may hold .git, LICENSE, README.md, a new go.mod and dot files; these are kept. If it is a Go module with code, the project
is added to it: go.mod keeps what it says and gets what is missing, files that are there stay, and what kctrl would have written
otherwise is named. --dry-run --diff shows all of it first.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Runtime = project.RuntimeMode(runtimeMode)
			opts.Year = time.Now().Year()
			opts.Kctrl = kctrlBuild()
			return runInit(cmd.Context(), s, opts, write)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Domain, "domain", "", "what the API groups end in, such as example.com (required)")
	flags.StringVar(&opts.Repo, "repo", "", "`path` of the Go module (default: that of the go.mod in the folder)")
	flags.StringVar(&opts.ProjectName, "project-name", "", "what the names of everything deployed begin with (default: the last element of --repo)")
	flags.StringVar(&opts.Owner, "owner", "", "who holds the copyright")
	flags.StringVar(&opts.License, "license", "apache2", "header of Go files: `apache2|none`")
	flags.BoolVar(&opts.MultiGroup, "multigroup", false, "give every API group its own folders")
	flags.BoolVar(&opts.Namespaced, "namespaced", false, "limit the operator to the namespace it runs in")
	flags.BoolVar(&opts.APIModule, "api-module", false, "make api a Go module of its own, for those who import the types without what the operator requires")
	flags.StringVar(&runtimeMode, "runtime", "", "where the runtime comes from: `bundled|module` (default: module for a released kctrl)")
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

// kctrlBuild tells the scaffold which kctrl this is, so that a project can require the same.
func kctrlBuild() scaffold.Build {
	build := scaffold.Build{Version: "(devel)"}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		build.Version, build.Sum = info.Main.Version, info.Main.Sum
	}
	return build
}
