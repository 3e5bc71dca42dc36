package release

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// Chart selects the directory, the name and the version of a Helm chart.
type Chart struct {
	// Dir is the directory of the chart, relative to the project.
	Dir string
	// Name is the name of the chart and of its operator.
	Name string
	// Version is the version of the chart and of the operator. Empty means the version in Chart.yaml, or 0.1.0.
	Version string
	// Force replaces files that were edited.
	Force bool
	// History returns former contents of values.yaml. It may be nil.
	History sync.History
}

// chartTemplate is the template that PROJECT.lock records for the files of a chart.
const chartTemplate = "release/chart"

// PlanChart plans a Helm chart with a template for each object, values.yaml, and the files that every chart has. If the
// chart exists, PlanChart keeps edited and additional files, adds new values, and removes the templates of objects that
// no longer exist. In an edited values.yaml, the switches that the user has not changed follow the objects.
func PlanChart(p *plan.Plan, c Chart, s Source) error {
	version, err := semantic(c.Version)
	if err != nil {
		return err
	}
	c.Version, c.Dir = version, path.Clean(c.Dir)
	r, err := load(s)
	if err != nil {
		return err
	}
	w := &chartWriter{Chart: c, plan: p, source: s, released: r, author: newAuthor(c.Name, r), written: map[string]bool{}}
	return plan.InOrder(w.frame, w.writeValues, w.templates, w.sweep)
}

// semantic returns a semantic version without a leading v.
func semantic(version string) (string, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if version != "" && semver.Canonical(v)+semver.Build(v) != v {
		return "", &diagnostic.Error{Message: "--version " + diagnostic.Quote(version) +
			" is not a semantic version such as 1.2.3", Class: diagnostic.ErrUsage}
	}
	return v[1:], nil
}

// chartWriter plans the files of one chart. It keeps edited files.
type chartWriter struct {
	Chart
	plan     *plan.Plan
	source   Source
	released *released
	author   *author
	written  map[string]bool
}

// frame plans the files that every chart has. If Chart.yaml exists, it belongs to the user.
func (w *chartWriter) frame() error {
	view := templates.ChartView{
		Name:           w.Name,
		Version:        cmp.Or(w.Version, "0.1.0"),
		Prefix:         cmp.Or(strings.TrimSuffix(w.released.prefix, "-"), w.Name),
		ServiceAccount: cmp.Or(w.author.short(w.author.account), managerValue),
		Selector:       managerLabel + "=" + managerValue,
	}
	for _, t := range templates.Chart() {
		content, err := t.Render(view)
		if err != nil {
			return err
		}
		if t.Owner == plan.User {
			err = w.putOnce(t.Path(view), content)
		} else {
			err = w.put(t.Path(view), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putOnce plans a file that does not exist. In an existing file, it changes only the version.
func (w *chartWriter) putOnce(name string, content []byte) error {
	file := path.Join(w.Dir, name)
	have, err := w.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return write(w.plan, plan.File{Path: file, Content: content, Template: chartTemplate})
	}
	if err != nil || w.Version == "" {
		return err
	}
	document, err := parseRoot(have)
	if err != nil {
		return diagnostic.YAML(file, have, err, "repair it, then run the command again")
	}
	for _, key := range []string{"version", "appVersion"} {
		was := yamlnode.Text(document, key)
		if was == "" || was == w.Version {
			continue
		}
		if have, err = edit.ReplaceScalar(have, file, []string{key}, []string{was}, w.Version); err != nil {
			return err
		}
	}
	return w.plan.Edit(file, have)
}

// templates plans a template for each object except the namespace, which Helm creates.
func (w *chartWriter) templates() error {
	names := map[string]int{}
	for _, o := range w.released.all() {
		if o.kind == "Namespace" && o.name == w.released.namespace {
			continue
		}
		content, err := w.author.template(o)
		if err != nil {
			return err
		}
		name := w.templateName(o)
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		if err := w.put("templates/"+name+".yaml", []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// templateName returns the file name for an object, without extension, from its kind and name.
func (w *chartWriter) templateName(o *object) string {
	kind := strings.ToLower(o.kind)
	if o.kind == "CustomResourceDefinition" {
		kind = "crd"
	}
	return strings.Map(func(r rune) rune {
		if r == ':' || r == '/' {
			return '-'
		}
		return r
	}, kind+"-"+w.author.short(o.name))
}

// put plans a file, unless it was edited.
func (w *chartWriter) put(name string, content []byte) error {
	file := path.Join(w.Dir, name)
	w.written[file] = true
	edited, err := w.edited(file)
	if err != nil {
		return err
	}
	if edited && !w.Force {
		if have, err := w.plan.Read(file); err != nil || bytes.Equal(have, content) {
			return err
		}
		w.plan.Note(diagnostic.In(file, "was edited, so it is not updated", "delete it to generate it again"))
		return nil
	}
	return write(w.plan, plan.File{Path: file, Content: content, Template: chartTemplate, Force: w.Force})
}

// edited reports whether a file exists and differs from kctrl's output.
func (w *chartWriter) edited(file string) (bool, error) {
	content, err := w.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lock := w.plan.Lock()
	return lock.Touched(file, content), nil
}

// sweep deletes the templates whose objects no longer exist. It keeps edited files.
func (w *chartWriter) sweep() error {
	var gone []string
	for e := range w.plan.Lock().All() {
		if e.Template == chartTemplate && strings.HasPrefix(e.Path, path.Join(w.Dir, "templates")+"/") &&
			!w.written[e.Path] {
			gone = append(gone, e.Path)
		}
	}
	for _, file := range gone {
		edited, err := w.edited(file)
		if err != nil {
			return err
		}
		if edited && !w.Force {
			w.plan.Note(diagnostic.In(file, "belongs to a removed object, but was edited, so it is not deleted",
				"delete it if it is not needed"))
			continue
		}
		if err := w.plan.Delete(file); err != nil {
			return err
		}
	}
	return nil
}

// writeValues plans values.yaml. If the user has edited the file, it adds the missing keys, and sets the switches that
// the user has not changed. It stores the file without the user's edits as the base of the next merge.
func (w *chartWriter) writeValues() error {
	file := path.Join(w.Dir, "values.yaml")
	w.written[file] = true
	sections := w.released.values()
	have, err := w.plan.Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	there := err == nil
	if there && w.source.Image == "" {
		keepImage(sections, have)
	}
	content, err := renderValues(w.Name, sections)
	if err != nil {
		return err
	}
	edited, err := w.edited(file)
	if err != nil {
		return err
	}
	if edited && !w.Force {
		err = w.mergeValues(file, have, content, sections)
	} else {
		err = write(w.plan, plan.File{Path: file, Content: content, Template: chartTemplate, Force: w.Force})
	}
	if err != nil {
		return err
	}
	return w.keepBase(file, content)
}

// mergeValues plans an edited values.yaml. content is the file without the user's edits.
func (w *chartWriter) mergeValues(file string, have, content []byte, sections []section) error {
	merged, missing, err := mergeValues(have, sections)
	if err != nil {
		return diagnostic.YAML(file, have, err, "repair it, then run the command again")
	}
	if len(missing) > 0 {
		w.plan.Note(notAdded(file, missing))
	}
	if merged, err = w.setSwitches(file, merged, content); err != nil {
		return err
	}
	if w.source.Image != "" {
		if merged, err = setImageValues(merged, file, sections); err != nil {
			return err
		}
	}
	return w.plan.Edit(file, merged)
}

// keepBase stores the content of values.yaml without the user's edits. Without PROJECT.lock, nothing could find it
// again.
func (w *chartWriter) keepBase(file string, content []byte) error {
	if exists, err := w.plan.HasLock(); err != nil || !exists {
		return err
	}
	w.plan.Lock().Record(file, content, chartTemplate)
	bases := sync.NewBases(w.plan, nil)
	return errors.Join(bases.Keep(content), bases.Drop())
}

// setSwitches sets the switches in an edited values.yaml to those in content, except the switches that the user has
// changed. If the former content without the user's edits is not known, it adds notes about the switches that differ.
func (w *chartWriter) setSwitches(file string, src, content []byte) ([]byte, error) {
	exists, err := w.plan.HasLock()
	if err != nil || !exists {
		return src, err
	}
	base, known, err := sync.NewBases(w.plan, w.History).Of(w.plan.Lock().Entries(file), src)
	if err != nil {
		return nil, err
	}
	for _, f := range features {
		want, have, before := f.in(content), f.in(src), f.in(base)
		switch {
		case want == nil || have == nil || isOn(want) == isOn(have):
		case !known:
			w.plan.Note(f.differs(edit.Position(file, have), isOn(have)))
		case before != nil && isOn(before) == isOn(have):
			if src, err = edit.ReplaceBool(src, file, []string{f.key, f.option}, isOn(want)); err != nil {
				return nil, err
			}
		}
	}
	return src, nil
}

// imageKeys are the keys of values.yaml for the image of the manager.
var imageKeys = []string{"repository", "tag", "digest"}

// keepImage copies the image in an existing values.yaml to sections, if the user did not set --image.
func keepImage(sections []section, have []byte) {
	document, err := parseRoot(have)
	if err != nil {
		return
	}
	for _, s := range sections {
		for _, key := range imageKeys {
			value := yamlnode.Value(document, s.key, "image", key)
			if mine := yamlnode.Value(s.value, "image", key); mine != nil && value != nil && value.Kind == yaml.ScalarNode {
				mine.Value = value.Value
			}
		}
	}
}

// setImageValues sets the image in an edited values.yaml to the image of sections.
func setImageValues(src []byte, file string, sections []section) ([]byte, error) {
	document, err := parseRoot(src)
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		for _, key := range imageKeys {
			want, have := yamlnode.Value(s.value, "image", key), yamlnode.Value(document, s.key, "image", key)
			if want == nil || have == nil || want.Value == have.Value {
				continue
			}
			edited, err := edit.ReplaceScalar(src, file, []string{s.key, "image", key}, []string{have.Value}, want.Value)
			if err != nil {
				return nil, err
			}
			src = edited
		}
	}
	return src, nil
}
