package refactor

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// rewriteManifests plans changes to the user's manifests in config: new kinds of objects, mainly in samples, and new
// names in patches and other manifests that refer to them.
func (r *Refactoring) rewriteManifests() error {
	words, err := r.manifestWords()
	if err != nil {
		return err
	}
	renames, plurals := map[[2]string][2]string{}, map[[2]string]string{}
	for i, o := range r.before.Resources {
		now := r.after.Resources[i]
		from, to := [2]string{o.APIGroup() + "/" + o.Version, o.Kind}, [2]string{now.APIGroup() + "/" + now.Version, now.Kind}
		if o.API && from != to {
			renames[from] = to
		}
		if o.API && o.Plural != now.Plural {
			plurals[[2]string{o.APIGroup(), o.Plural}] = now.Plural
		}
	}
	if len(renames)+len(words) == 0 {
		return nil
	}
	return r.manifests(func(name string, text []byte) error {
		if edited := edit.ReplaceNames(text, renames, words, plurals); !bytes.Equal(edited, text) {
			return r.plan.Edit(name, edited)
		}
		return nil
	})
}

// manifests calls a function with the new path and the content of each YAML file in config.
func (r *Refactoring) manifests(visit func(name string, text []byte) error) error {
	return fs.WalkDir(r.plan.FS(), "config", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case !entry.Type().IsRegular() || !isYAML(name):
			return nil
		}
		to := r.newPath(name)
		text, err := r.plan.ReadIfExists(to)
		if err != nil || text == nil {
			return err
		}
		return visit(to, text)
	})
}

// Manifests, patches and kustomizations contain API groups, CRD names and namespaces under these keys. Under other keys
// the same text may have another meaning, such as a group under host.
var (
	groupKeys     = []string{"group", "apiGroup", "apiGroups"}
	crdKeys       = []string{"name", "resourceNames"}
	namespaceKeys = []string{"name", "namespace", "namespaces", "matchNames", "values", "kubernetes.io/metadata.name",
		"args", "command"}
	objectKeys = []string{"name", "resourceNames", "serviceAccountName"}
)

// manifestWords returns the changed names in manifests, by the keys under which they appear.
func (r *Refactoring) manifestWords() (map[string]map[string]string, error) {
	words := map[string]map[string]string{}
	add := func(keys []string, from, to string) {
		if from == to {
			return
		}
		for _, key := range keys {
			if words[key] == nil {
				words[key] = map[string]string{}
			}
			words[key][from] = to
		}
	}
	add(namespaceKeys, templates.Namespace(r.before.Name), templates.Namespace(r.after.Name))
	for i, was := range r.before.Resources {
		if now := r.after.Resources[i]; was.API {
			add(groupKeys, was.APIGroup(), now.APIGroup())
			add(crdKeys, was.Plural+"."+was.APIGroup(), now.Plural+"."+now.APIGroup())
		}
	}
	from, to := r.before.Name, r.after.Name
	add([]string{nameLabel}, from, to)
	if from == to {
		return words, nil
	}
	// Overlays see the names with the prefix of config/default.
	add([]string{"namePrefix"}, from+"-", to+"-")
	d, err := r.deployed()
	if err != nil {
		return nil, err
	}
	for was, becomes := range d.names {
		add(objectKeys, was, becomes)
	}
	return words, nil
}
