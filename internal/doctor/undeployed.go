package doctor

import (
	"fmt"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// needed are the templates of the manifests without which the manager does not work. The generator of webhooks notes
// undeployed manifests of webhooks.
var needed = []string{
	"generate/crd", "generate/rbac", "project/config/manager/manager.yaml", "project/config/rbac/role_binding.yaml",
	"project/config/rbac/service_account.yaml",
}

// undeployed returns warnings about manifests that the manager needs and that no kustomization deploys. objects are
// deployed by config/default and its overlays.
func undeployed(p *plan.Plan, objects []*resource.Resource) []Finding {
	reached := &deployment{plan: p, seen: map[string]bool{}}
	for _, folder := range composed(p) {
		reached.visit(folder)
	}
	var found []Finding
	for entry := range p.Lock().All() {
		name := entry.Path
		if !slices.Contains(needed, entry.Template) || reached.seen[name] {
			continue
		}
		text, err := p.ReadIfExists(name)
		if err != nil || text == nil || isDeployed(text, objects) {
			continue
		}
		found = append(found, unlisted(p, reached, name)...)
	}
	return slices.CompactFunc(found, func(a, b Finding) bool { return a.Error.Error() == b.Error.Error() })
}

// composed returns config/default and the directories in config whose kustomizations list other directories.
func composed(p *plan.Plan) []string {
	folders := []string{defaultFolder}
	for folder, name := range kustomizations(p) {
		text, err := p.Read(name)
		if err != nil || isComponent(p, name) {
			continue
		}
		if slices.ContainsFunc(templated.ListedFiles(text, name), func(item *yaml.Node) bool {
			_, isDir, err := templated.Kustomization(p, path.Join(folder, item.Value))
			return err == nil && isDir
		}) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// isDeployed reports whether objects contains an object of a manifest, possibly with a prefix or suffix.
func isDeployed(text []byte, objects []*resource.Resource) bool {
	docs, err := edit.Documents(text)
	return err == nil && slices.ContainsFunc(docs, func(doc *yaml.Node) bool {
		kind, name := yamlnode.Text(doc.Content[0], "kind"), yamlnode.Text(doc.Content[0], "metadata", "name")
		return slices.ContainsFunc(objects, func(r *resource.Resource) bool {
			return r.GetKind() == kind && strings.Contains(r.GetName(), name)
		})
	})
}

// unlisted returns a warning about a manifest at the kustomization that has to list it or its directory. It returns
// nothing if the kustomization has the entry in a comment, because the user then deploys the manifest in another way.
func unlisted(p *plan.Plan, reached *deployment, name string) []Finding {
	in, target := defaultFolder, name
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, found, err := templated.Kustomization(p, folder); err == nil && found {
			if in, target = folder, name; !reached.seen[folder] {
				in, target = defaultFolder, folder
			}
			break
		}
	}
	kustomization, found, err := templated.Kustomization(p, in)
	if err != nil || !found {
		return nil
	}
	text, err := p.Read(kustomization)
	if err != nil {
		return nil
	}
	rel, err := filepath.Rel(in, target)
	if err != nil {
		return nil
	}
	rel = filepath.ToSlash(rel)
	if regexp.MustCompile(`(?m)^\s*#\s*-\s*["']?` + regexp.QuoteMeta(rel) + `/?["']?\s*(#.*)?$`).Match(text) {
		return nil
	}
	pos := token.Position{Filename: kustomization}
	if docs, err := edit.Documents(text); err == nil && len(docs) == 1 {
		pos = edit.Position(kustomization, yamlnode.At(docs[0].Content[0], "resources"))
	}
	return warnings(diagnostic.At(pos, fmt.Sprintf("does not list %s, so %s does not deploy it", rel, defaultFolder),
		"list it under resources; if you deploy it in another way, write the entry as a comment"))
}
