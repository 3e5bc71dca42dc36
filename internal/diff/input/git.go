package input

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/git"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
	"github.com/kctrl-dev/kctrl/internal/verify/manifest"
)

// revision reads a revision: REV, or REV:PATH for a file or a directory in it.
func (r *reader) revision(ctx context.Context, name string) error {
	rev, inside, named := strings.Cut(name, ":")
	commit, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return r.unknown(ctx, name, err)
	}
	prefix, err := r.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return r.unknown(ctx, name, err)
	}
	tree := strings.TrimSpace(prefix)
	if named {
		tree = path.Join(tree, filepath.ToSlash(inside))
	}
	if tree = strings.Trim(tree, "/"); tree == "." {
		tree = ""
	}
	object := strings.TrimSpace(commit) + ":" + tree
	kind, err := r.git(ctx, "cat-file", "-t", object)
	if err != nil {
		return &diagnostic.Error{
			Message: fmt.Sprintf("revision %s has no %s", diagnostic.Quote(rev), diagnostic.Quote(tree)),
			Hint:    "git ls-tree -r --name-only " + rev + " lists its files", Class: diagnostic.ErrUsage,
		}
	}
	if strings.TrimSpace(kind) == "blob" {
		text, err := r.git(ctx, "cat-file", "blob", object)
		if err != nil {
			return err
		}
		r.parse(rev+":"+tree, []byte(text), true)
		r.choose()
		return nil
	}
	return r.tree(ctx, rev, strings.TrimSpace(commit), tree)
}

// unknown returns the error for a name that is neither a file nor a revision.
func (r *reader) unknown(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &diagnostic.Error{
		Message: fmt.Sprintf("%s is neither a file, a directory nor a revision in git", diagnostic.Quote(name)),
		Hint:    "git branch --all and git tag list revisions; a shallow clone has few of them: git fetch --unshallow --tags",
		Class:   diagnostic.ErrUsage, Cause: err,
	}
	if errors.Is(err, exec.ErrNotFound) {
		e.Message = "cannot read " + diagnostic.Quote(name) + ": git is not installed"
		e.Hint = "install git, or compare directories"
	} else if _, outside := r.git(ctx, "rev-parse", "--git-dir"); outside != nil && git.Holds(r.Dir) {
		return outside
	} else if outside != nil {
		e.Message = diagnostic.Quote(name) +
			" is neither a file nor a directory, and the current directory is not in a git repository"
		e.Hint = "use a file or a directory, or run the command in a clone"
	}
	return e
}

// git runs git in the directory and returns its output.
func (r *reader) git(ctx context.Context, args ...string) (string, error) {
	out, err := git.Output(ctx, r.Dir, args...)
	return string(out), err
}

// tree reads a directory of a revision.
func (r *reader) tree(ctx context.Context, rev, commit, dir string) error {
	err := r.archive(ctx, commit+":"+dir, func(name string, content []byte) error {
		switch path.Ext(name) {
		case ".go":
			r.hasGo = true
		case ".yaml", ".yml":
			r.parse(rev+":"+path.Join(dir, name), content, false)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.choose()
	root, found, err := r.root(ctx, commit, dir)
	r.side.Root = found && root == dir
	if err != nil || len(r.side.CRDs) > 0 || !r.hasGo || !found {
		return cmp.Or(err, r.none(len(r.side.CRDs) > 0))
	}
	temporary, err := r.Temporary()
	if err != nil {
		return err
	}
	err = r.archive(ctx, commit+":"+root, func(name string, content []byte) error {
		return write(temporary, name, content)
	})
	if err != nil {
		return err
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
	return r.compiled(ctx, temporary, rel, func(name string) string { return rev + ":" + path.Join(root, name) })
}

// root is like [project.Root] for a directory of a revision.
func (r *reader) root(ctx context.Context, commit, dir string) (root string, found bool, err error) {
	for at := dir; ; at = path.Dir(at) {
		if at == "." {
			at = ""
		}
		names, err := r.git(ctx, "ls-tree", "--full-tree", "--name-only", commit, "--",
			path.Join(at, project.File), path.Join(at, "go.mod"))
		if err != nil || names != "" || at == "" {
			return at, names != "", err
		}
	}
}

// compiled generates CRDs from the Go packages in a directory of a revision. module is a copy of the module, and rel is
// the path of the directory in it.
func (r *reader) compiled(ctx context.Context, module, rel string, label func(string) string) error {
	inside := *r
	inside.Dir = module
	dir := filepath.Join(module, filepath.FromSlash(rel))
	crds, _, err := inside.generated(ctx, dir, true)
	for _, e := range diagnostic.All(err) {
		if d, ok := errors.AsType[*diagnostic.Error](e); ok && d.Pos.Filename != "" {
			placed := *d
			placed.Pos.Filename = label(d.Pos.Filename)
			e = &placed
		}
		r.fail(e)
	}
	for _, crd := range crds {
		r.side.CRDs[crd.Name] = &CRD{CustomResourceDefinition: crd}
	}
	var made map[string]generator.Explain
	for name, crd := range r.side.CRDs {
		crd.At = func(p definition.Problem) token.Position {
			if made == nil {
				_, made, _ = inside.generated(ctx, dir, false)
			}
			if made[name] == nil {
				return token.Position{}
			}
			pos := made[name](p).Pos
			pos.Filename = label(pos.Filename)
			return pos
		}
	}
	return r.none(len(crds) > 0 || err != nil)
}

// archive calls visit with the files of a tree, except files in skipped directories.
func (r *reader) archive(ctx context.Context, object string, visit func(name string, content []byte) error) error {
	top, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "git", "archive", "--format=tar", object)
	command.Dir = strings.TrimSpace(top)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = visitTar(out, visit)
	_, _ = io.Copy(io.Discard, out) // drains the output so that git can end
	if failed := command.Wait(); failed != nil {
		return &diagnostic.Error{Message: "git archive: " + diagnostic.OneLine(complaints.String()),
			Cause: errors.Join(failed, ctx.Err())}
	}
	return err
}

func visitTar(from io.Reader, visit func(name string, content []byte) error) error {
	for files := tar.NewReader(from); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(name)) ||
			slices.ContainsFunc(strings.Split(path.Dir(name), "/"), skips) {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := visit(name, content); err != nil {
			return err
		}
	}
}

// skips reports whether to skip a directory of a revision. It keeps the bundled runtime, because Go packages import it.
func skips(dir string) bool {
	return dir != "." && dir != "third_party" && dir != "vendor" && manifest.IsSkipped(dir)
}
