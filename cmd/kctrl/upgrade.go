package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/git"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/upgrade"
)

func newUpgradeCommand(s *streams) *cobra.Command {
	write := writeOptions{command: "kctrl upgrade"}
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Update templates, runtime and modules",
		Long: `Update the project to the templates, the runtime and the module versions of this kctrl. The command
keeps modules that are newer, and k8s.io modules of an older minor version that kctrl supports.

kctrl replaces files that you did not edit and merges files that you edited. The base of a merge is
the file that kctrl wrote, which it finds in git by the hash in PROJECT.lock. It writes conflicts
with git's conflict markers, lists them, and exits with code 3 until you resolve them. It changes
controllers, webhooks, their tests and the main function only if the merge has no conflicts and
compiles. It never changes types, samples and conversions. It lists the types and the sample of a
kind if their templates have changed. It does not list conversions, and the files of further
versions of a kind, because these are derived from your types. It warns if a patch or another entry
of a kustomization in config no longer applies.

Review the result with git diff, and revert it with git checkout.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUpgrade(cmd.Context(), s, write) },
	}
	write.addCheckFlag(cmd.Flags())
	write.addFlags(cmd.Flags())
	return cmd
}

func runUpgrade(ctx context.Context, s *streams, write writeOptions) error {
	return s.change(ctx, write, project.Load, func(p *openedProject) (err error) {
		p.plan, err = upgrade.Plan(p.fsys, p.Project, upgrade.Options{Kctrl: kctrlBuild(), Base: history(ctx, p.dir)})
		if err != nil {
			return err
		}
		err = p.regenerate(ctx, true)
		p.next = []string{"go mod tidy", "make test"}
		return err
	})
}

// history returns a function that finds earlier versions of the directory's files in git.
func history(ctx context.Context, dir string) sync.History {
	return func(name, sum string) ([]byte, bool, error) { return fromGit(ctx, dir, name, sum) }
}

// fromGit returns the version of a file in the repository's history whose content has the SHA-256 sum. It finds nothing
// in a directory that is not in a repository.
func fromGit(ctx context.Context, dir, name, sum string) ([]byte, bool, error) {
	if !git.Holds(dir) {
		return nil, false, nil
	}
	objects, err := git.Output(ctx, dir, "rev-list", "--all", "--objects", "--", name)
	if err != nil {
		return nil, false, err
	}
	for line := range strings.Lines(string(objects)) {
		blob, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !strings.HasSuffix("/"+path, "/"+name) { // a commit, or a directory of the file
			continue
		}
		content, err := git.Output(ctx, dir, "cat-file", "blob", blob)
		if err != nil {
			return nil, false, err
		}
		if hash := sha256.Sum256(edit.Plain(content)); hex.EncodeToString(hash[:]) == sum {
			return content, true, nil
		}
	}
	return nil, false, nil
}
