package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"

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
	var deployed []*resource.Resource
	for _, folder := range append([]string{defaultFolder, samplesFolder}, overlays(generated)...) {
		if _, exists, err := templated.Kustomization(generated, folder); err != nil || !exists {
			d.tell(err)
			continue
		}
		if !d.visit(folder) {
			continue
		}
		if built, err := objects(p.Dir, folder, generated.Overlay(p.Dir)); d.tell(err) {
			names = append(names, checkNames(folder, built)...)
			deployed = append(deployed, built.Resources()...)
		}
	}
	if len(d.errs) == 0 {
		names = append(names, undeployed(generated, deployed)...)
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
func build(dir, folder string, contents map[string][]byte) error {
	_, err := objects(dir, folder, contents)
	return err
}

// objects is like build, and returns the objects.
func objects(dir, folder string, contents map[string][]byte) (resmap.ResMap, error) {
	return kustomize.BuildIn(dir, folder, "kustomize build "+folder+" shows the same", contents)
}

// Unbuilt returns an error for each entry of a kustomization in config, such as a patch, that keeps the kustomization
// from building after the plan, although it built before: it may refer to an object that the plan removes or renames.
// dir is the directory of the project. Unbuilt skips kustomizations that fetch remote resources.
func Unbuilt(p *plan.Plan, dir string) []*diagnostic.Error {
	var found []*diagnostic.Error
	contents := p.Overlay(dir)
	for folder, name := range kustomizations(p) {
		before := &deployment{plan: plan.New(p.FS()), seen: map[string]bool{}}
		if isComponent(p, name) || !before.visit(folder) || before.remote {
			continue
		}
		after := &deployment{plan: p, seen: map[string]bool{}}
		readable := after.visit(folder)
		if after.remote || readable && build(dir, folder, contents) == nil || build(dir, folder, nil) != nil {
			continue
		}
		errs := after.errs
		if readable {
			errs = after.unbuilt(dir, folder, contents)
		}
		for _, err := range errs {
			e, _ := errors.AsType[*diagnostic.Error](err)
			if e != nil && !slices.ContainsFunc(found, func(o *diagnostic.Error) bool { return o.Pos == e.Pos }) {
				e.Hint = "remove or change this"
				found = append(found, e)
			}
		}
	}
	return found
}

// isComponent reports whether a kustomization is a component, which builds only as a part of other kustomizations.
func isComponent(p *plan.Plan, name string) bool {
	text, err := p.Read(name)
	if err != nil {
		return false
	}
	docs, err := edit.Documents(text)
	return err == nil && len(docs) == 1 && yamlnode.Text(docs[0].Content[0], "kind") == "Component"
}

// unbuilt returns the errors of a kustomization that does not build. It removes all entries that can refer to objects
// from the visited kustomizations, and then adds those again with which the directory builds.
func (d *deployment) unbuilt(dir, folder string, contents map[string][]byte) []error {
	trial := newTrial(d, dir, contents)
	if failure, ok := errors.AsType[*diagnostic.Error](build(dir, folder, trial.contents)); ok {
		return []error{diagnostic.At(failure.Pos, "does not build after this command: "+innermost(failure.Message), "")}
	}
	waiting := trial.removed
	for added := true; added; { // an entry can refer to an object of a later one, such as a generator
		added = false
		waiting = slices.DeleteFunc(waiting, func(e *reference) bool {
			trial.set(e, true)
			builds := build(dir, folder, trial.contents) == nil
			trial.set(e, builds)
			added = added || builds
			return builds
		})
	}
	var errs []error
	for _, e := range waiting {
		trial.set(e, true)
		if failure, ok := errors.AsType[*diagnostic.Error](build(dir, folder, trial.contents)); ok {
			errs = append(errs, diagnostic.At(edit.Position(e.kustomization, e.node),
				e.subject()+" does not apply after this command: "+innermost(failure.Message), ""))
		}
		trial.set(e, false)
	}
	return errs
}

// innermost returns the part of an error of kustomize that follows the chain of directories, without repetitions.
func innermost(message string) string {
	if at := strings.LastIndex(message, "recursed accumulation of path "); at >= 0 {
		if _, after, found := strings.Cut(message[at:], "': "); found {
			message = after
		}
	}
	message, _, _ = strings.Cut(message, ": no matches for Id ")
	return message
}

// reference is an entry of a list in a kustomization, such as a patch, that can refer to objects.
type reference struct {
	kustomization string
	list, node    *yaml.Node
}

// subject returns the name of the reference in messages.
func (e *reference) subject() string {
	if file := cmp.Or(e.node.Value, yamlnode.Text(e.node, "path")); file != "" && !strings.Contains(file, "\n") {
		return file
	}
	return "the entry"
}

// trial is a copy of kustomizations without some references.
type trial struct {
	dir string
	// contents has the plan's files, with the copies of the kustomizations, by absolute path.
	contents map[string][]byte
	docs     map[string]*yaml.Node
	removed  []*reference
}

// newTrial returns a trial without the references of all visited kustomizations.
func newTrial(d *deployment, dir string, contents map[string][]byte) *trial {
	t := &trial{dir: dir, contents: maps.Clone(contents), docs: map[string]*yaml.Node{}}
	for _, folder := range slices.Sorted(maps.Keys(d.seen)) {
		name, exists, err := templated.Kustomization(d.plan, folder)
		if err != nil || !exists {
			continue
		}
		text, err := d.plan.Read(name)
		if err != nil {
			continue
		}
		docs, err := edit.Documents(text)
		if err != nil || len(docs) != 1 || docs[0].Content[0].Kind != yaml.MappingNode {
			continue
		}
		t.docs[name] = docs[0]
		pairs := docs[0].Content[0].Content
		for i := 0; i < len(pairs)-1; i += 2 {
			list := pairs[i+1]
			if list.Kind != yaml.SequenceNode || slices.Contains(listsOfFiles, pairs[i].Value) {
				continue
			}
			for _, node := range list.Content {
				t.removed = append(t.removed, &reference{name, list, node})
			}
			list.Content = nil
		}
		t.write(name)
	}
	return t
}

// set adds a reference to its list, or removes it.
func (t *trial) set(e *reference, listed bool) {
	switch at := slices.Index(e.list.Content, e.node); {
	case listed && at < 0:
		e.list.Content = append(e.list.Content, e.node)
	case !listed && at >= 0:
		e.list.Content = slices.Delete(slices.Clone(e.list.Content), at, at+1)
	}
	t.write(e.kustomization)
}

// write sets the content of a kustomization to its document. A document that was parsed can be marshaled.
func (t *trial) write(name string) {
	if text, err := yaml.Marshal(t.docs[name]); err == nil {
		t.contents[filepath.Join(t.dir, filepath.FromSlash(name))] = text
	}
}

// listsOfFiles are the lists of a kustomization whose entries do not refer to objects.
var listsOfFiles = []string{"resources", "components"}

// deployment visits the files and directories that kustomizations list, each once.
type deployment struct {
	plan *plan.Plan
	seen map[string]bool // by directory or file: kustomize can read it
	// remote reports whether a kustomization has a remote entry.
	remote bool
	errs   []error
}

// remote matches resources that kustomize fetches.
var remote = regexp.MustCompile(`://|[?]ref=|git@`)

// fetches reports whether an entry of a kustomization is remote.
func fetches(kustomization *yaml.Node) bool {
	return slices.ContainsFunc(kustomization.Content, func(list *yaml.Node) bool {
		return list.Kind == yaml.SequenceNode && slices.ContainsFunc(list.Content, func(item *yaml.Node) bool {
			return remote.MatchString(cmp.Or(item.Value, yamlnode.Text(item, "path")))
		})
	})
}

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
	docs, err := edit.Documents(text)
	if err != nil {
		return d.tell(diagnostic.YAML(name, text, err, "repair it"))
	}
	readable = true
	for _, doc := range docs {
		d.remote = d.remote || fetches(doc.Content[0])
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
