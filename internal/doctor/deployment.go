package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kustomize"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// checkDeployment reports problems of the files that config/default and the samples list. It runs kustomize only if all
// files are readable, because the errors of kustomize have a chain of files instead of a line.
func checkDeployment(ctx context.Context, p *Project) []Finding {
	generated, err := p.generated(ctx)
	if err != nil {
		return nil
	}
	reported, err := p.reportedElsewhere(generated)
	if err != nil {
		return problems(err)
	}
	d := &deployment{plan: generated, seen: map[string]bool{}}
	var names []Finding
	for _, folder := range append([]string{"config/default", samplesFolder}, overlays(generated)...) {
		if _, exists, err := templated.Kustomization(generated, folder); err != nil || !exists {
			d.tell(err)
			continue
		}
		if !d.visit(folder) {
			continue
		}
		if built, err := build(p.Dir, folder, generated.Overlay(p.Dir)); d.tell(err) {
			names = append(names, checkNames(folder, built)...)
		}
	}
	found := append(problems(errors.Join(d.errs...)), names...)
	for _, f := range found {
		reported = append(reported, f.Error)
	}
	for _, note := range generated.Notes() {
		isSame := func(e *diagnostic.Error) bool {
			return e.Error() == note.Error() || e.Pos == note.Pos && note.Pos.Line > 0
		}
		if !slices.ContainsFunc(reported, isSame) {
			found = append(found, warnings(note)...)
		}
	}
	return found
}

// reportedElsewhere returns the notes of the plan that other checks report.
func (p *Project) reportedElsewhere(generated *plan.Plan) ([]*diagnostic.Error, error) {
	stale, err := register.StaleBuilds(generated)
	if err != nil || !p.ours() {
		return stale, err
	}
	runtime, err := p.emptyPlan()
	if err == nil {
		err = gomod.PlanRuntime(runtime, p.project)
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(stale, runtime.Notes()), nil
}

// build runs kustomize build for a directory.
func build(dir, folder string, contents map[string][]byte) (resmap.ResMap, error) {
	return kustomize.BuildIn(dir, folder, "kustomize build "+folder+" shows the same", contents)
}

// NoteUnbuilt adds notes to a plan for the project in dir if config/default or the samples build before the plan but
// not after it: a user's patch may refer to an object that the plan removes or renames. It skips kustomizations that
// fetch remote resources.
func NoteUnbuilt(p *plan.Plan, dir string) {
	contents := p.Overlay(dir)
	for _, folder := range []string{"config/default", samplesFolder} {
		if _, exists, err := templated.Kustomization(p, folder); err != nil || !exists {
			continue
		}
		if d := (&deployment{plan: p, seen: map[string]bool{}}); !d.visit(folder) || d.remote {
			continue
		}
		_, err := build(dir, folder, contents)
		e, failed := errors.AsType[*diagnostic.Error](err)
		if !failed {
			continue
		}
		if _, err := build(dir, folder, nil); err != nil {
			continue
		}
		p.Note(diagnostic.At(e.Pos, "no longer builds: "+e.Message, "change the reference; "+e.Hint))
	}
}

// deployment visits the files and directories that kustomizations list, each once.
type deployment struct {
	plan *plan.Plan
	seen map[string]bool // by directory or file: kustomize can read it
	// remote reports whether a kustomization lists a remote resource.
	remote bool
	errs   []error
}

// remote matches resources that kustomize fetches.
var remote = regexp.MustCompile(`://|[?]ref=|git@`)

func (d *deployment) tell(err error) bool {
	if err != nil {
		d.errs = append(d.errs, err)
	}
	return err == nil
}

// visit reports whether kustomize can read the kustomization of a directory and everything that it lists. It adds
// errors for unreadable files.
func (d *deployment) visit(folder string) (readable bool) {
	if readable, seen := d.seen[folder]; seen {
		return readable
	}
	d.seen[folder] = true // also ends cycles, which kustomize reports
	defer func() { d.seen[folder] = readable }()
	name, _, err := templated.Kustomization(d.plan, folder)
	if !d.tell(err) {
		return false
	}
	text, err := d.plan.Read(name)
	if !d.tell(err) {
		return false
	}
	d.remote = d.remote || remote.Match(text)
	docs, err := edit.Documents(text)
	if err != nil {
		return d.tell(diagnostic.YAML(name, text, err, "repair it"))
	}
	readable = true
	for _, doc := range docs {
		for _, key := range templated.Lists {
			for _, item := range yamlnode.Items(doc.Content[0], key) {
				target := path.Join(folder, item.Value)
				if item.Kind == yaml.ScalarNode && fs.ValidPath(target) && !strings.Contains(item.Value, ":") &&
					!path.IsAbs(item.Value) {
					readable = d.listed(name, item, target) && readable
				}
			}
		}
	}
	return readable
}

// listed is like visit for an entry of a kustomization, which is a directory or a file.
func (d *deployment) listed(kustomization string, item *yaml.Node, target string) bool {
	if _, found, err := templated.Kustomization(d.plan, target); err == nil && found {
		return d.visit(target)
	}
	text, err := d.plan.Read(target)
	if err == nil {
		return d.parses(target, text)
	}
	missing := "which does not exist"
	if info, failure := fs.Stat(d.plan.FS(), target); failure == nil && info.IsDir() {
		missing = "which has no kustomization"
	} else if !errors.Is(err, fs.ErrNotExist) {
		return d.tell(err)
	}
	return d.tell(diagnostic.At(edit.Position(kustomization, item),
		fmt.Sprintf("lists %s, %s, so kustomize fails", item.Value, missing),
		fmt.Sprintf("restore %s from version control, or remove it from the list", target)))
}

// parses reports whether a file is valid YAML. It adds no errors for samples, which have their own check.
func (d *deployment) parses(name string, text []byte) bool {
	if readable, seen := d.seen[name]; seen {
		return readable
	}
	_, err := edit.Documents(text)
	d.seen[name] = err == nil
	if err != nil && !strings.HasPrefix(name, samplesFolder+"/") {
		d.tell(diagnostic.YAML(name, text, err, "repair it"))
	}
	return err == nil
}
