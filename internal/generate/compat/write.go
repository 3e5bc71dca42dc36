package compat

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// Write writes the files with new content, all or none, and creates their directories; see [transaction.Apply]. It
// locks root, which also holds the journal. An empty root means the directory of the command.
func (r *Result) Write(ctx context.Context, root string) error {
	if root == "" {
		root = r.dir
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return r.writeError(root, err)
	}
	changes, err := r.changes(root)
	if err != nil || len(changes) == 0 {
		return err
	}
	return r.named(root, apply(ctx, root, changes))
}

// Changes returns the changes that [Result.Write] would make. File names are relative to the directory of the command.
func (r *Result) Changes(root string) ([]transaction.Change, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, r.writeError(root, err)
	}
	changes, err := r.changes(root)
	for i, c := range changes {
		changes[i].Path = filepath.ToSlash(r.relative(absolute(root, filepath.FromSlash(c.Path))))
	}
	slices.SortFunc(changes, func(a, b transaction.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, err
}

// apply applies the changes. If a killed command left changes outside the root, apply first rolls them back.
func apply(ctx context.Context, root string, changes []transaction.Change) error {
	folder, err := transaction.Open(root)
	if err != nil {
		return err
	}
	defer folder.Close()
	folder = folder.WithOutside()
	var outside []string
	for _, c := range changes {
		if dir := filepath.Dir(filepath.FromSlash(c.Path)); filepath.IsAbs(dir) && !slices.Contains(outside, dir) {
			outside = append(outside, dir)
		}
	}
	if _, _, err := transaction.Recover(folder, outside...); err != nil {
		return err
	}
	return transaction.Apply(ctx, folder, "kctrl gen", 0o777, changes)
}

// changes returns the changes to files whose content differs. Their paths are relative to root, or absolute for files
// elsewhere.
func (r *Result) changes(root string) ([]transaction.Change, error) {
	var changes []transaction.Change
	for _, file := range r.Files() {
		if info, err := os.Stat(file.Path); err == nil && !info.Mode().IsRegular() {
			return nil, r.notAFile(file.Path, info)
		}
		name, err := followLinks(file.Path)
		if err != nil {
			return nil, r.writeError(file.Path, err)
		}
		c := transaction.Change{Path: filepath.ToSlash(name), After: nonNil(file.Content), Mode: 0o666}
		if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
			c.Path = filepath.ToSlash(rel)
		}
		present, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, r.writeError(file.Path, err)
		case bytes.Equal(present, file.Content):
			continue
		default:
			c.Before = nonNil(present)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// notAFile returns an error about an output file that is not a regular file, and so cannot be replaced.
func (r *Result) notAFile(name string, info fs.FileInfo) error {
	err := transaction.InTheWay(r.relative(name), info)
	if !info.IsDir() {
		err.Hint = "output:stdout writes to standard output, and output:dir=out to files in the directory out"
	}
	return err
}

// maxLinks limits how many symbolic links are followed.
const maxLinks = 40

// followLinks returns the file that a name leads to, which need not exist: a link that is an output stays a link.
func followLinks(name string) (string, error) {
	for range maxLinks {
		target, err := os.Readlink(name)
		if err != nil {
			break // not a link, or missing
		}
		name = absolute(filepath.Dir(name), target)
	}
	dir, missing := filepath.Dir(name), filepath.Base(name)
	for {
		real, err := filepath.EvalSymlinks(dir)
		switch {
		case err == nil:
			return filepath.Join(real, missing), nil
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", err
		}
		dir, missing = filepath.Dir(dir), filepath.Join(filepath.Base(dir), missing)
	}
}

// nonNil distinguishes an empty file from a missing one.
func nonNil(content []byte) []byte {
	if content == nil {
		return []byte{}
	}
	return content
}

// named makes file names in errors relative to the directory of the command.
func (r *Result) named(root string, err error) error {
	for _, single := range diagnostic.All(err) {
		if e, ok := errors.AsType[*diagnostic.Error](single); ok && e.Pos.Filename != "" {
			e.Pos.Filename = r.relative(absolute(root, filepath.FromSlash(e.Pos.Filename)))
		}
	}
	return err
}

func (r *Result) writeError(name string, err error) error {
	return diagnostic.AtFile(r.relative(name), "cannot write", err)
}

// relative returns a name as messages show it.
func (r *Result) relative(name string) string {
	dir := r.dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}
