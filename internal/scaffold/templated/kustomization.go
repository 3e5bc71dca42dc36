package templated

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

// Kustomization returns the path of a directory's kustomization under any file name that kustomize accepts. If the
// directory has none, found is false and name is the path of a new kustomization. If it has two, Kustomization returns
// a *diagnostic.Error, because kustomize rejects the directory.
func Kustomization(p *plan.Plan, folder string) (name string, found bool, err error) {
	for _, base := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		candidate := path.Join(folder, base)
		switch text, err := p.ReadIfExists(candidate); {
		case err != nil:
			return "", false, err
		case text == nil:
			continue
		case found:
			return "", false, diagnostic.In(candidate,
				"this is a second kustomization beside "+path.Base(name)+", and kustomize takes one",
				"move what it lists into "+name+", then remove it")
		}
		name, found = candidate, true
	}
	if !found {
		name = path.Join(folder, "kustomization.yaml")
	}
	return name, found, nil
}

// AddItems adds files to a list of a directory's kustomization, such as resources, and keeps its other content. If the
// directory has no kustomization, it only adds a note to the plan, because the user may deploy without one.
func AddItems(p *plan.Plan, folder, list string, files ...string) error {
	if len(files) == 0 {
		return nil
	}
	kustomization, found, err := Kustomization(p, folder)
	if err != nil {
		return err
	}
	if !found {
		p.Note(diagnostic.In(kustomization, "the file is missing, so nothing lists "+strings.Join(files, ", "),
			"restore it from version control and list them under "+list+", unless you deploy without it"))
		return nil
	}
	text, err := p.Read(kustomization)
	if err != nil {
		return err
	}
	for _, file := range files {
		if list == "resources" && slices.Contains(ItemsOf(text, "bases"), file) {
			continue // the former name of the list for directories
		}
		if text, err = edit.EnsureListItem(text, kustomization, []string{list}, file); err != nil {
			return err
		}
	}
	return p.Edit(kustomization, text)
}

// IsNew reports whether a file was never part of the project. If a file exists or existed but is not listed, the user
// removed it from the list.
func IsNew(p *plan.Plan, file string) (bool, error) {
	c, err := p.Lookup(file)
	if err != nil {
		return false, err
	}
	_, known := p.Lock().Entry(file)
	return !known && c.Before == nil, nil
}

// WriteLists plans missing kustomizations of the CRDs and the samples. A new kustomization lists all files of the
// project's kinds.
func WriteLists(p *plan.Plan, proj *project.Project) error {
	var crds, samples []string
	for _, r := range proj.Resources {
		if !r.API {
			continue
		}
		kind := layout.KindView(proj, r, "")
		if !slices.Contains(crds, kind.CRDBase) { // one file has all versions
			crds = append(crds, kind.CRDBase)
		}
		text, err := p.ReadIfExists(path.Join(layout.SamplesDir, kind.SampleFile))
		if err != nil {
			return err
		}
		if text != nil {
			samples = append(samples, kind.SampleFile)
		}
	}
	return errors.Join(
		WriteList(p, layout.CRDDir, templates.CRDKustomization(), crds),
		WriteList(p, layout.SamplesDir, templates.SamplesKustomization(), samples),
	)
}

// WriteList plans a kustomization if the directory has none.
func WriteList(p *plan.Plan, folder string, t templates.Template[templates.ListView], files []string) error {
	_, found, err := Kustomization(p, folder)
	if found || err != nil || len(files) == 0 {
		return err
	}
	return Render(p, t, templates.ListView{Files: files}, true)
}

// GeneratedCRDs returns the paths of the generated CRDs, relative to config/crd.
func GeneratedCRDs(p *plan.Plan) ([]string, error) {
	var crds []string
	for entry := range p.Lock().All() {
		file, ok := strings.CutPrefix(entry.Path, layout.CRDDir+"/")
		if !ok || entry.Template != "generate/crd" {
			continue
		}
		text, err := p.ReadIfExists(entry.Path)
		if err != nil {
			return nil, err
		}
		if text != nil {
			crds = append(crds, file)
		}
	}
	return crds, nil
}

// NoteLists notes files that the project's kustomizations list but that do not exist, and generated files that the
// kustomizations do not deploy.
func NoteLists(p *plan.Plan) error {
	lists := listed{plan: p, seen: map[string]bool{}}
	if err := lists.follow(layout.DefaultDir); err != nil {
		return err
	}
	deployed := lists.files
	if err := errors.Join(lists.follow(layout.CRDDir), lists.follow(layout.SamplesDir)); err != nil {
		return err
	}
	if lists.seen[layout.DefaultDir] {
		noteUndeployed(p, deployed)
	}
	return nil
}

// listed collects the files that kustomizations list.
type listed struct {
	plan  *plan.Plan
	seen  map[string]bool // directories with a kustomization
	files []string
}

// follow adds the files that a directory's kustomization lists, including the files of nested kustomizations, and notes
// missing files. It ignores a kustomization that it cannot read.
func (l *listed) follow(folder string) error {
	name, found, err := Kustomization(l.plan, folder)
	if err != nil || !found || l.seen[folder] {
		return err
	}
	l.seen[folder] = true
	text, err := l.plan.Read(name)
	if err != nil {
		return err
	}
	for _, item := range ListedFiles(text, name) {
		target := path.Join(folder, item.Value)
		isDir, err := noteUnless(l.plan, name, item, target)
		if err == nil && isDir {
			err = l.follow(target)
		}
		if err != nil {
			return err
		}
		l.files = append(l.files, target)
	}
	return nil
}

// noteUndeployed notes generated webhook configurations that no kustomization deploys, and generated roles without a
// binding.
func noteUndeployed(p *plan.Plan, deployed []string) {
	for c := range p.Files() {
		isDeployed := slices.Contains(deployed, c.Path)
		switch {
		case c.After == nil:
		case c.Template == "generate/webhook" && path.Dir(c.Path) == layout.WebhookDir && !isDeployed:
			p.Note(diagnostic.In(c.Path, "no kustomization that "+layout.DefaultDir+
				" lists has it, so that no API server asks the webhooks "+"when the manager is deployed",
				"list ../webhook there, with a kustomization that lists it and the Service that it names; "+webhookExample+
					" shows the rest"))
		case c.Template == "generate/rbac" && isDeployed:
			noteUnbound(p, c, deployed)
		}
	}
}

// webhookExample is the URL of a project that deploys webhooks.
const webhookExample = "https://" + layout.RuntimeModule + "/tree/main/examples/cronjob/config"

// noteUnbound notes each Role to which no RoleBinding refers. A marker with a namespace generates a Role. noteUnbound
// does not compare namespaces, because a kustomization may set them.
func noteUnbound(p *plan.Plan, roles plan.Change, deployed []string) {
	bound := map[string]bool{}
	for _, name := range deployed {
		if text, err := p.Read(name); err == nil { // an error means a directory
			for _, doc := range objectsOf(text, "RoleBinding") {
				if role := yamlnode.Value(doc, "roleRef"); yamlnode.Text(role, "kind") == "Role" {
					bound[yamlnode.Text(role, "name")] = true
				}
			}
		}
	}
	for _, doc := range objectsOf(roles.After, "Role") {
		name := yamlnode.Text(doc, "metadata", "name")
		if bound[name] {
			continue
		}
		p.Note(diagnostic.At(edit.Position(roles.Path, doc),
			fmt.Sprintf("no RoleBinding names the Role %s of the namespace %s, so that the manager does not have its "+
				"rights", name, yamlnode.Text(doc, "metadata", "namespace")),
			fmt.Sprintf("list a RoleBinding in %s that binds it as role_binding.yaml does the ClusterRole",
				path.Dir(roles.Path))))
	}
}

// objectsOf returns the objects of the given kind in a YAML file. If the file does not parse, it returns none.
func objectsOf(text []byte, kind string) []*yaml.Node {
	return slices.DeleteFunc(edit.Roots(text), func(root *yaml.Node) bool { return yamlnode.Text(root, "kind") != kind })
}

// Lists are the lists of files and directories in a kustomization that kctrl adds items to.
var Lists = []string{"resources", "components", "transformers"}

// ListedFiles returns the files and directories of the project that a kustomization lists.
func ListedFiles(text []byte, name string) []*yaml.Node {
	roots := edit.Roots(text)
	if len(roots) != 1 {
		return nil
	}
	var items []*yaml.Node
	for _, key := range Lists {
		items = append(items, yamlnode.Items(roots[0], key)...)
	}
	return slices.DeleteFunc(items, func(item *yaml.Node) bool {
		target := path.Join(path.Dir(name), item.Value)
		return item.Kind != yaml.ScalarNode || strings.Contains(item.Value, ":") || path.IsAbs(item.Value) ||
			project.CheckPath(target) != nil
	})
}

// noteUnless notes a missing target of a kustomization, and reports whether the target is a directory that has its own
// kustomization.
func noteUnless(p *plan.Plan, kustomization string, item *yaml.Node, target string) (isDir bool, err error) {
	if _, found, err := Kustomization(p, target); found || errors.Is(err, syscall.ENOTDIR) {
		return found, nil
	} else if err != nil {
		return false, err
	}
	missing := "which does not exist"
	switch info, err := fs.Stat(p.FS(), target); {
	case err == nil && info.IsDir():
		missing = "which has no kustomization"
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, diagnostic.AtFile(target, "cannot read", err)
	}
	if c, err := p.Lookup(target); err == nil && c.After != nil {
		return false, nil
	}
	p.Note(diagnostic.At(edit.Position(kustomization, item),
		fmt.Sprintf("lists %s, %s, so that kustomize fails", item.Value, missing),
		fmt.Sprintf("restore %s from version control, or take it off the list", target)))
	return false, nil
}

// ItemsOf returns the items of a list in a kustomization. It returns none if the file does not parse.
func ItemsOf(text []byte, list string) []string {
	var items []string
	if roots := edit.Roots(text); len(roots) == 1 {
		for _, item := range yamlnode.Items(roots[0], list) {
			items = append(items, item.Value)
		}
	}
	return items
}
