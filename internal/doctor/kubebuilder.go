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

// leftover is a file, or a line of a file, that kubebuilder writes and that kctrl projects do not need. pattern selects
// the files.
type leftover struct {
	pattern string
	// text is part of the line. If it is empty, the leftover is the file, unless a kustomization lists it.
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
		message: "installs controller-gen, which kctrl replaces",
		hint:    "call kctrl generate and kctrl manifests, and remove the tool",
	},
	{
		pattern: "Makefile", text: "ENVTEST",
		message: "installs setup-envtest, which kctrl replaces", hint: "use kctrl env build, and remove the tool",
	},
	{
		pattern: "bin/controller-gen*", message: "is a tool that kubebuilder's Makefile downloaded",
		hint: "delete it: kctrl replaces it",
	},
	{
		pattern: "bin/setup-envtest*", message: "is a tool that kubebuilder's Makefile downloaded",
		hint: "delete it: kctrl env build replaces it",
	},
}

const (
	unusedPatch = "belongs to kubebuilder, and no kustomization lists it"
	unusedHint  = "kctrl doctor --fix deletes it"
	// insertMarker marks the places where kubebuilder inserts code.
	insertMarker = "+kubebuilder:scaffold:"
)

// checkLeftovers reports kubebuilder's files and lines in a kctrl project.
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
				e := diagnostic.At(position(name, line), l.message, l.hint)
				found = append(found, Finding{Warning: true, Error: e, byHand: l.hint != unusedHint})
			}
		}
	}
	for _, name := range p.sources() {
		text, err := fs.ReadFile(p.FS, name)
		if err != nil {
			continue
		}
		n := 0
		for line := range bytes.Lines(text) {
			if n++; isInsertLine(line) {
				found = append(found, warnings(diagnostic.At(position(name, n),
					"marks where kubebuilder inserts code, which kctrl does not need",
					"kctrl doctor --fix removes the comment"))...)
			}
		}
	}
	return found
}

// isLeft reports whether a file has a leftover, and its line.
func (p *Project) isLeft(l leftover, name string, listed map[string]bool) (line int, is bool) {
	if l.text == "" {
		return 0, !listed[name] && !isKustomization(path.Base(name))
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

// listed returns all files that a kustomization below config refers to in any of its lists.
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
			return nil // the check of the deployment reports it
		}
		for _, doc := range docs {
			eachScalar(doc, func(text string) { listed[path.Join(path.Dir(name), text)] = true })
		}
		return nil
	})
	return listed, err
}

// eachScalar visits all scalar values of a document, and the files of values of the form name=file.
func eachScalar(node *yaml.Node, visit func(text string)) {
	if node.Kind == yaml.ScalarNode {
		visit(node.Value)
		_, file, _ := strings.Cut(node.Value, "=")
		visit(file)
	}
	for _, child := range node.Content {
		eachScalar(child, visit)
	}
}

// sources returns the files in which kubebuilder has insertion markers.
func (p *Project) sources() []string {
	var names []string
	for _, pattern := range []string{
		"*.go", "cmd/*.go", "internal/*/*.go", "internal/*/*/*.go", "internal/*/*/*/*.go", "api/*/*.go", "apis/*/*/*.go",
		"api/*/*/*.go", "test/e2e/*.go",
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

// isInsertLine reports whether a line has only a comment with the marker.
func isInsertLine(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	for _, comment := range []string{"//", "#"} {
		if rest, found := bytes.CutPrefix(trimmed, []byte(comment)); found &&
			bytes.HasPrefix(bytes.TrimSpace(rest), []byte(insertMarker)) {
			return true
		}
	}
	return false
}

// fixLeftovers deletes unlisted files and removes comments. It does not change the Makefile, which belongs to the user.
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
