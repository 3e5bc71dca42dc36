package refactor

import (
	"bytes"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// maxScript is the size limit in bytes of files searched for the module path. Hand-written files are smaller.
const maxScript = 256 << 10

// noteRepo notes files that still contain the old module path and that kctrl cannot safely rewrite: nested modules,
// scripts, linker flags and directives.
func (r *Refactoring) noteRepo() error {
	old := r.before.Repo
	if old == r.after.Repo {
		return nil
	}
	named := regexp.MustCompile(`(?:^|[^\w./-])` + regexp.QuoteMeta(old) + `(?:$|[^\w.:-])`)
	return r.eachText(func(name string) bool {
		return slices.Contains(strings.Split(path.Dir(name), "/"), "config") || !mayNameModule(name, old)
	}, func(name string, text []byte) error {
		for i, line := range bytes.Split(text, []byte("\n")) {
			if strings.HasPrefix(r.after.Repo, old+"/") { // the new path contains the old one
				line = bytes.ReplaceAll(line, []byte(r.after.Repo), nil)
			}
			if path.Ext(name) == ".go" && !bytes.HasPrefix(line, []byte("//go:")) ||
				!named.Match(bytes.TrimSuffix(line, []byte("\r"))) {
				continue
			}
			r.plan.Note(diagnostic.At(token.Position{Filename: name, Line: i + 1},
				fmt.Sprintf("names %s, which is %s now", old, r.after.Repo),
				"change it here, and wherever else this file means the module"))
			break
		}
		return nil
	})
}

// eachText calls visit with the new path and the content of each file that the project's authors may have written,
// unless skip returns true for its old path.
func (r *Refactoring) eachText(skip func(name string) bool, visit func(name string, text []byte) error) error {
	return fs.WalkDir(r.plan.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && isThirdParty(name):
			return fs.SkipDir
		case !entry.Type().IsRegular() || skip(name):
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxScript {
			return nil // deleted, or not hand-written
		}
		to := r.newPath(name)
		text, err := r.plan.ReadIfExists(to)
		if err != nil {
			return err
		}
		return visit(to, text)
	})
}

// isThirdParty reports whether a directory contains no Go code or scripts that the project's authors wrote.
func isThirdParty(name string) bool {
	base := path.Base(name)
	hidden := strings.HasPrefix(base, ".") && name != "." && name != ".github"
	return hidden || name == layout.BundleDir || slices.Contains([]string{"vendor", "testdata", "node_modules"}, base)
}

// mayNameModule reports whether a file may refer to a module by its path. It returns false for a path of one word,
// which may have any meaning, and for documentation, which the user maintains.
func mayNameModule(name, repo string) bool {
	base := path.Base(name)
	switch {
	case slices.Contains([]string{project.File, project.LockFile}, name) ||
		slices.Contains([]string{".md", ".sum", ".json", ".txt"}, path.Ext(base)):
		return false
	case base == layout.GoModFile || base == layout.WorkFile:
		return true
	}
	return strings.Contains(repo, "/")
}
