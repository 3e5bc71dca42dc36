package migrate

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kustomize"
	yamledit "github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// features are the folders below config that config/default lists, or has in a comment for those who want them: kctrl has them as
// components. What hangs together with patches and replacements of config/default, as certificates do, is none of them.
var features = []string{"network-policy", "prometheus"}

const (
	defaultFolder    = "config/default"
	componentsFolder = "config/components"
)

// makeComponents plans that features become components, which kctrl edit lists and takes off. Each becomes one if config/default is known to
// build to the same objects afterwards, with the feature and without it, and if nothing else names its folder; else it stays, and the report says why.
func (m *migration) makeComponents(context.Context) error {
	name, found, err := templated.Kustomization(m.plan, defaultFolder)
	if err != nil || !found {
		return err
	}
	for _, feature := range features {
		f, err := m.featureOf(feature, name)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		reason, err := m.reasonToStay(f)
		if err != nil {
			return err
		}
		if reason != "" {
			m.report.Left = append(m.report.Left, Left{
				File: f.listedAt, Line: f.line, Rewritten: true, Code: "../" + feature,
				Reason: fmt.Sprintf("stays as it is, while a project of kctrl has it as a component, which kctrl edit lists: %s", reason),
			})
			continue
		}
		if err := f.move(m.plan); err != nil {
			return err
		}
	}
	return nil
}

// feature is one folder, and what config/default says of it.
type feature struct {
	name           string
	folder, target string
	// files are those of the folder, with their contents as they will be in the target.
	files map[string][]byte
	// irregular is one that is no file, such as a symbolic link, of which nobody knows whether it may move.
	irregular string
	// listedAt is the kustomization of config/default, in whose line it is listed, or could be.
	listedAt string
	line     int
	list     string // resources, or bases as it was called once
	listed   bool
	before   []byte // the kustomization
	after    []byte
}

// featureOf returns a feature of the project, nil if it has none by that name.
func (m *migration) featureOf(name, listedAt string) (*feature, error) {
	f := &feature{name: name, folder: "config/" + name, target: path.Join(componentsFolder, name), listedAt: listedAt}
	kustomization, found, err := templated.Kustomization(m.plan, f.folder)
	if err != nil || !found {
		return nil, err
	}
	if _, taken, err := templated.Kustomization(m.plan, f.target); taken || err != nil {
		return nil, err
	}
	if f.before, err = m.plan.Read(listedAt); err != nil {
		return nil, err
	}
	if !f.find() {
		return nil, nil
	}
	if info, err := os.Lstat(filepath.Join(m.dir, filepath.FromSlash(f.folder))); err != nil || !info.IsDir() {
		f.irregular = f.folder
	} else if err := f.read(m.plan); err != nil {
		return nil, err
	}
	if f.after, err = f.relisted(); err != nil {
		return nil, nil // a kustomization in a shape that nobody edits but by hand
	}
	if base := path.Base(kustomization); f.irregular == "" {
		if f.files[base] = component(f.files[base]); f.files[base] == nil {
			return nil, nil
		}
	}
	return f, nil
}

// find looks for the item in the lists of config/default, then in its comments.
func (f *feature) find() bool {
	docs, err := yamledit.Documents(f.before)
	if err != nil || len(docs) != 1 || len(docs[0].Content) == 0 {
		return false
	}
	for _, list := range []string{"resources", "bases"} {
		items := yamlnode.Value(docs[0].Content[0], list)
		if items == nil || items.Kind != yaml.SequenceNode {
			continue
		}
		f.list = list
		at := slices.IndexFunc(items.Content, func(item *yaml.Node) bool { return item.Value == "../"+f.name })
		if at >= 0 {
			f.listed, f.line = true, items.Content[at].Line
			return true
		}
	}
	if f.list == "" {
		return false
	}
	comment := f.comment()
	f.line = 1 + slices.IndexFunc(strings.Split(string(f.before), "\n"), func(line string) bool { return comment.MatchString(strings.TrimSuffix(line, "\r")) })
	return f.line > 0
}

// comment matches the line of a feature that is not listed.
func (f *feature) comment() *regexp.Regexp {
	return regexp.MustCompile(`^\s*#\s*-\s*\.\./` + regexp.QuoteMeta(f.name) + `/?\s*$`)
}

// read reads the files of the folder.
func (f *feature) read(p *plan.Plan) error {
	f.files = map[string][]byte{}
	return fs.WalkDir(p.FS(), f.folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case !entry.Type().IsRegular():
			f.irregular = name
			return nil
		}
		text, err := p.Read(name)
		f.files[strings.TrimPrefix(name, f.folder+"/")] = text
		return err
	})
}

// component returns a kustomization as one of a component, nil if that is not known how.
func component(text []byte) []byte {
	docs, err := yamledit.Documents(text)
	if err != nil || len(docs) != 1 || len(docs[0].Content) == 0 || docs[0].Content[0].Kind != yaml.MappingNode {
		return nil
	}
	plain, crlf := withoutCarriageReturns(string(text))
	lines := strings.SplitAfter(plain, "\n")
	root := docs[0].Content[0]
	first := root.Line - 1
	for _, key := range []string{"apiVersion", "kind"} {
		if at := yamlnode.Index(root, key, 0); at >= 0 {
			lines[root.Content[at].Line-1] = ""
		}
	}
	lines = slices.Insert(lines, first, "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	return []byte(withCarriageReturns(strings.Join(lines, ""), crlf))
}

const componentsList = "\n# What not every cluster needs: kctrl edit --enable lists it, --disable takes it off.\ncomponents: []\n"

// relisted returns the kustomization of config/default with the component in place of the folder, or of its comment.
func (f *feature) relisted() ([]byte, error) {
	text := f.before
	if f.listed {
		var err error
		if text, err = yamledit.RemoveListItem(text, f.listedAt, []string{f.list}, "../"+f.name); err != nil {
			return nil, err
		}
	}
	plain, crlf := withoutCarriageReturns(string(text))
	lines := strings.SplitAfter(plain, "\n")
	lines = f.withoutComment(lines)
	if docs, err := yamledit.Documents([]byte(strings.Join(lines, ""))); err != nil {
		return nil, err
	} else if root := docs[0].Content[0]; yamlnode.Value(root, "components") == nil {
		lines = slices.Insert(lines, f.endOfList(root, lines), componentsList)
	}
	text = []byte(withCarriageReturns(strings.Join(lines, ""), crlf))
	if !f.listed {
		return text, nil
	}
	return yamledit.EnsureListItem(text, f.listedAt, []string{"components"}, "../components/"+f.name)
}

// endOfList returns the line after the list that the feature was in, and after the comments that hang on to it.
func (f *feature) endOfList(root *yaml.Node, lines []string) int {
	list := yamlnode.Value(root, f.list)
	end := list.Line
	for _, item := range list.Content {
		end = max(end, item.Line)
	}
	for end < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[end]), "#") {
		end++
	}
	return end
}

// withoutComment takes out the line of a feature in a comment, and the comment that leads to the feature: the one that begins with its name in
// brackets.
func (f *feature) withoutComment(lines []string) []string {
	end := f.line - 1 // where the item is, or was
	if !f.listed {
		end++
	}
	start := f.line - 1
	title := "# [" + strings.ToUpper(strings.ReplaceAll(f.name, "-", " ")) + "]"
	for at := start - 1; at >= 0 && strings.HasPrefix(strings.TrimSpace(lines[at]), "#"); at-- {
		if strings.HasPrefix(strings.TrimSpace(lines[at]), title) {
			start = at
			break
		}
		if commentedItem.MatchString(lines[at]) {
			break
		}
	}
	return slices.Delete(slices.Clone(lines), start, end)
}

var commentedItem = regexp.MustCompile(`^\s*#\s*-\s`)

// reasonToStay says why a feature is not made a component, empty if it is.
func (m *migration) reasonToStay(f *feature) (string, error) {
	if f.irregular != "" {
		return f.irregular + " is a link, or another file that is no regular one", nil
	}
	if where, err := m.namer(f); where != "" || err != nil {
		return where + " names its folder", err
	}
	if where, err := m.remote(); where != "" || err != nil {
		return where + " takes in what is elsewhere, so what it builds to cannot be compared", err
	}
	for _, on := range []bool{true, false} {
		if reason, err := m.buildsOtherwise(f, on); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// namer returns where the folder of a feature is named besides config/default, in anything but comments and prose.
func (m *migration) namer(f *feature) (string, error) {
	named := regexp.MustCompile(`(^|[^\w-])(config|\.\.)/` + regexp.QuoteMeta(f.name) + `([^\w-]|$)`)
	joined := regexp.MustCompile(`"config",\s*"` + regexp.QuoteMeta(f.name) + `"`)
	return m.firstLine(func(name string) bool {
		return name != f.listedAt && !strings.HasPrefix(name, f.folder+"/") && path.Ext(name) != ".md"
	}, func(line string) bool { return named.MatchString(line) || joined.MatchString(line) })
}

var elsewhere = regexp.MustCompile(`^\s*-\s*["']?([\w.+-]+://|git@|git::|github\.com[/:])|[?&]ref=`)

// remote returns where a kustomization below config names what is in no folder: to build it would download that.
func (m *migration) remote() (string, error) {
	return m.firstLine(func(name string) bool {
		return strings.HasPrefix(name, "config/") && slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(name))
	}, elsewhere.MatchString)
}

// firstLine returns the place of the first line that is looked for, in the files that are, among those that are no comments.
func (m *migration) firstLine(in func(name string) bool, is func(line string) bool) (string, error) {
	names, err := m.named(in)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(m.plan.FS(), name)
		if err != nil {
			return "", diagnostic.AtFile(name, "cannot read", err)
		}
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			continue // no text
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "#") && !strings.HasPrefix(trimmed, "//") && is(line) {
				return fmt.Sprintf("%s:%d", name, number), nil
			}
		}
	}
	return "", nil
}

// buildsOtherwise says why config/default does not build to the same objects with a component as with the folder, where the feature is on or off.
func (m *migration) buildsOtherwise(f *feature, on bool) (string, error) {
	change := yamledit.RemoveListItem
	if on {
		change = yamledit.EnsureListItem
	}
	before, err := change(f.before, f.listedAt, []string{f.list}, "../"+f.name)
	if err != nil {
		return "", err
	}
	after, err := change(f.after, f.listedAt, []string{"components"}, "../components/"+f.name)
	if err != nil {
		return "", err
	}
	was, err := m.build(map[string][]byte{f.listedAt: asResources(before)})
	if err != nil {
		return defaultFolder + " does not build", nil
	}
	moved := map[string][]byte{f.listedAt: asResources(after)}
	for name, text := range f.files {
		moved[path.Join(f.target, name)] = text
	}
	switch is, err := m.build(moved); {
	case err != nil:
		return defaultFolder + " would not build with it as a component", nil
	case !bytes.Equal(was, is):
		return defaultFolder + " would build to something else", nil
	}
	return "", nil
}

var (
	bases     = regexp.MustCompile(`(?m)^bases:`)
	resources = regexp.MustCompile(`(?m)^resources:`)
)

// asResources has bases under the name that they have today: kustomize takes both, and warns on the standard error of each.
func asResources(kustomization []byte) []byte {
	if resources.Match(kustomization) {
		return kustomization
	}
	return bases.ReplaceAll(kustomization, []byte("resources:"))
}

// build returns what config/default builds to after the plan, with other contents for some files.
func (m *migration) build(contents map[string][]byte) ([]byte, error) {
	dir, err := filepath.EvalSymlinks(m.dir)
	if err != nil {
		return nil, err
	}
	all := m.plan.Overlay(dir)
	for name, text := range contents {
		all[filepath.Join(dir, filepath.FromSlash(name))] = text
	}
	objects, err := kustomize.BuildWith(filepath.Join(dir, filepath.FromSlash(defaultFolder)), "", all)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

// move plans that the folder becomes the component. It stays the author's: an upgrade leaves it alone.
func (f *feature) move(p *plan.Plan) error {
	lock, _, err := p.Lock()
	if err != nil {
		return err
	}
	for name, text := range f.files {
		target := path.Join(f.target, name)
		if err := p.WriteFile(plan.File{Path: target, Content: text, Force: true}); err != nil {
			return err
		}
		lock.Forget(target)
		if err := p.Delete(path.Join(f.folder, name)); err != nil {
			return err
		}
	}
	return p.Edit(f.listedAt, f.after)
}
