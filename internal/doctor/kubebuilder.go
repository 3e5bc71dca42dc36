package doctor

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// leftover is what kubebuilder writes and a project of kctrl has no use for: files by a pattern, or lines of these with a text.
type leftover struct {
	pattern string
	// text is what a line has that is left over; empty means that files are which no kustomization lists.
	text    string
	message string
	hint    string
}

var leftovers = []leftover{
	{pattern: "config/crd/patches/*.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/crd/kustomizeconfig.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/default/*_patch.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/webhook/kustomizeconfig.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/certmanager/*.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/prometheus/*.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/network-policy/*.yaml", message: unusedPatch, hint: unusedHint},
	{pattern: "config/rbac/auth_proxy_*.yaml", message: unusedPatch, hint: unusedHint},
	{
		pattern: "Makefile", text: "CONTROLLER_GEN",
		message: "has kubebuilder's controller-gen, whose job kctrl does", hint: "call kctrl generate and kctrl manifests, and take the tool out",
	},
	{
		pattern: "Makefile", text: "ENVTEST",
		message: "has kubebuilder's setup-envtest, whose job kctrl does", hint: "kctrl env build compiles the API server; take the tool out",
	},
	{
		pattern: "bin/controller-gen*", message: "is a tool that kubebuilder's Makefile has downloaded", hint: "delete it: kctrl does its job",
	},
	{
		pattern: "bin/setup-envtest*", message: "is a tool that kubebuilder's Makefile has downloaded", hint: "delete it: kctrl env build does its job",
	},
}

const (
	unusedPatch = "is kubebuilder's, and no kustomization lists it"
	unusedHint  = "kctrl doctor --fix deletes it"
	// insertMarker is what kubebuilder looks for where it inserts code.
	insertMarker = "+kubebuilder:scaffold:"
)

// checkLeftovers looks for what kubebuilder wrote, in a project of kctrl.
func checkLeftovers(_ context.Context, p *Project) []Finding {
	if !p.ours() {
		return nil
	}
	listed, err := p.listed()
	if err != nil {
		return problems(err)
	}
	var found []Finding
	for _, l := range leftovers {
		names, err := fs.Glob(p.FS, l.pattern)
		if err != nil {
			return problems(err)
		}
		for _, name := range names {
			if line, is := p.isLeft(l, name, listed); is {
				e := &diagnostic.Error{Pos: position(name, line), Message: l.message, Hint: l.hint}
				found = append(found, Finding{Warning: true, Error: e, byHand: l.hint != unusedHint})
			}
		}
	}
	for _, name := range p.sources() {
		text, err := fs.ReadFile(p.FS, name)
		if err != nil {
			continue
		}
		for _, line := range insertLines(text) {
			found = append(found, Finding{Warning: true, Error: &diagnostic.Error{
				Pos: position(name, line), Message: "is where kubebuilder inserts code, which kctrl does not need", Hint: "kctrl doctor --fix takes the comment out",
			}})
		}
	}
	return found
}

// isLeft reports whether a file has what is left over, and in which line.
func (p *Project) isLeft(l leftover, name string, listed map[string]bool) (line int, is bool) {
	if l.text == "" {
		base := path.Base(name)
		return 0, !listed[name] && !isKustomization(base)
	}
	text, err := fs.ReadFile(p.FS, name)
	if err != nil {
		return 0, false
	}
	at := bytes.Index(text, []byte(l.text))
	return 1 + bytes.Count(text[:max(at, 0)], []byte("\n")), at >= 0
}

func isKustomization(base string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, base)
}

// listed returns the files that any kustomization below config names, in whatever list.
func (p *Project) listed() (map[string]bool, error) {
	listed := map[string]bool{}
	err := fs.WalkDir(p.FS, "config", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case !entry.Type().IsRegular() || !isKustomization(path.Base(name)):
			return nil
		}
		text, err := fs.ReadFile(p.FS, name)
		if err != nil {
			return diagnostic.AtFile(name, "cannot read", err)
		}
		docs, err := edit.Documents(text)
		if err != nil {
			return nil // the check of the deployment says so
		}
		for _, doc := range docs {
			for text := range scalars(doc) {
				listed[path.Join(path.Dir(name), text)] = true
			}
		}
		return nil
	})
	return listed, err
}

// scalars returns all texts of a document.
func scalars(node *yaml.Node) map[string]bool {
	all := map[string]bool{}
	if node.Kind == yaml.ScalarNode {
		all[node.Value] = true
		_, file, _ := strings.Cut(node.Value, "=") // name=file
		all[file] = true
	}
	for _, child := range node.Content {
		for text := range scalars(child) {
			all[text] = true
		}
	}
	return all
}

// sources returns the files in which kubebuilder marks where it inserts.
func (p *Project) sources() []string {
	var names []string
	for _, pattern := range []string{
		"*.go", "cmd/*.go", "internal/*/*.go", "internal/*/*/*.go", "internal/*/*/*/*.go", "api/*/*.go", "apis/*/*/*.go", "api/*/*/*.go", "test/e2e/*.go",
		"config/*/kustomization.yaml",
	} {
		found, err := fs.Glob(p.FS, pattern)
		if err == nil {
			names = append(names, found...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// insertLines returns the lines that are a comment with the marker and nothing else.
func insertLines(text []byte) []int {
	var lines []int
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if isInsertLine(line) {
			lines = append(lines, n)
		}
	}
	return lines
}

func isInsertLine(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	for _, comment := range []string{"//", "#"} {
		if rest, found := bytes.CutPrefix(trimmed, []byte(comment)); found && bytes.HasPrefix(bytes.TrimSpace(rest), []byte(insertMarker)) {
			return true
		}
	}
	return false
}

// fixLeftovers deletes files that nothing lists, and takes comments out. What is in the Makefile is the user's.
func fixLeftovers(ctx context.Context, p *Project, fixes *plan.Plan) error {
	for _, f := range checkLeftovers(ctx, p) {
		if f.Hint == unusedHint {
			if err := fixes.Delete(f.Pos.Filename); err != nil {
				return err
			}
		}
	}
	for _, name := range p.sources() {
		text, err := fixes.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var kept []byte
		for line := range bytes.Lines(text) {
			if !isInsertLine(line) {
				kept = append(kept, line...)
			}
		}
		if err := fixes.Edit(name, kept); err != nil {
			return err
		}
	}
	return nil
}
