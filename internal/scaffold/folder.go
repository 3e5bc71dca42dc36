package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const goModFile = "go.mod"

// checkNewFolder refuses a folder that holds more than a new project can start beside.
func checkNewFolder(fsys fs.FS) error {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return diagnostic.AtFile("", "cannot read the folder", err)
	}
	var strange []string
	for _, entry := range entries {
		name := entry.Name()
		if name == ProjectFile {
			return projectExists(fsys)
		}
		if !besideProject(name) {
			strange = append(strange, name)
		}
	}
	if len(strange) == 0 {
		return nil
	}
	what := strange[0]
	if more := len(strange) - 1; more > 0 {
		what = fmt.Sprintf("%s and %d more", what, more)
	}
	return &diagnostic.Error{
		Message: "the folder is not empty: it has " + what,
		Hint:    "start in a new folder; only .git, LICENSE, README.md, a new go.mod and dot files may be there",
	}
}

// projectExists says which project a folder holds already.
func projectExists(fsys fs.FS) error {
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: ProjectFile},
		Message: "this folder holds a kctrl project already",
		Hint:    "kctrl create api adds a kind to it",
	}
	text, err := fs.ReadFile(fsys, ProjectFile)
	if err != nil {
		return diagnostic.AtFile(ProjectFile, "cannot read", err)
	}
	if _, err := parseProject(text); err != nil {
		e.Message = "this folder holds a project already, which is not one of this kctrl"
		e.Hint = "start in a new folder"
	}
	return e
}

// besideProject reports whether a new project can start in a folder that holds the named file.
func besideProject(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return base == "" || name == goModFile || slices.Contains([]string{"LICENSE", "COPYING", "NOTICE", "README"}, base)
}

// existingModule returns the module path of a go.mod that is there already, and "" when there is none. A go.mod that
// requires modules belongs to a project that init would break.
func existingModule(fsys fs.FS) (string, error) {
	text, err := fs.ReadFile(fsys, goModFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", diagnostic.AtFile(goModFile, "cannot read", err)
	}
	file, err := parseGoMod(text)
	if err != nil {
		return "", err
	}
	if len(file.Require)+len(file.Replace)+len(file.Exclude)+len(file.Tool) > 0 || file.Module == nil {
		return "", &diagnostic.Error{
			Pos:     token.Position{Filename: goModFile},
			Message: "the folder holds a Go module with requirements",
			Hint:    "start in a new folder, and move your packages there afterwards",
		}
	}
	return file.Module.Mod.Path, nil
}

func parseGoMod(text []byte) (*modfile.File, error) {
	file, err := modfile.Parse(goModFile, text, nil)
	if err == nil {
		return file, nil
	}
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: goModFile},
		Message: "not a go.mod file: " + strings.ReplaceAll(err.Error(), "\n", "; "),
		Hint:    "repair it; go mod edit -json says what the go command makes of it",
		Cause:   err,
	}
	if list, ok := errors.AsType[modfile.ErrorList](err); ok && len(list) > 0 {
		e.Pos.Line, e.Pos.Column = list[0].Pos.Line, list[0].Pos.LineRune
		e.Message = strings.ReplaceAll(list[0].Err.Error(), "\n", "; ")
	}
	return nil, e
}

func validateExistingModule(repo, existing string) error {
	if existing == "" || existing == repo {
		return nil
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: goModFile},
		Message: fmt.Sprintf("the module here is %s, not %s", existing, repo),
		Hint:    "leave --repo out, or remove go.mod",
		Class:   diagnostic.ErrUsage,
	}
}
