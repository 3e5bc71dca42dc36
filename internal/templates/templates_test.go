package templates

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// listed is one template of the index, with any view.
type listed struct {
	id, path, view string
	render         func() ([]byte, error)
}

// index returns all templates that the tables of this package list, each with a view.
func index(t *testing.T) []listed {
	t.Helper()
	project := ProjectView{Name: "guestbook", Domain: "example.com", Repo: "example.com/guestbook", Bundled: true}
	kind := NewKind(guestbook())
	kind.VersionView.Objects = []string{"Guestbook", "GuestbookList"}
	var all []listed
	all = append(all, list(project, append(Project(), APIModuleDoc())...)...)
	modules := slices.Concat(Modules(), DropInModule(), PublishedModules())
	all = append(all, list(ModuleView{Repo: "example.com/guestbook", RuntimeVersion: "v1.0.0"}, modules...)...)
	mod, sum := ApplyConfigurationModules(false)
	all = append(all, list(ModuleView{}, mod, sum)...)
	mod, sum = ApplyConfigurationModules(true)
	all = append(all, list(ModuleView{Repo: "example.com/guestbook"}, append(APIModule(), mod, sum)...)...)
	for _, license := range Licenses() {
		all = append(all, list(NewLicense(2026, "The Guestbook Authors"), license)...)
	}
	all = append(all, list(kind.VersionView, Version(), VersionRegister())...)
	all = append(all, list(kind, Types(), Sample(), WebhookDoc(), StandIn(kind.ControllerFolder))...)
	all = append(all, list(kind, slices.Concat(Roles(), Controller(), FurtherController(), Operand())...)...)
	admission := AdmissionView{KindView: kind, FailurePolicy: "fail", Verbs: []string{"create"}}
	all = append(all, list(admission, slices.Concat(Defaulter(), Validator(), Policy(),
		[]Template[AdmissionView]{TestObject()})...)...)
	all = append(all, list(ListView{Files: []string{kind.CRDBase}}, CRDKustomization(), SamplesKustomization(),
		PolicyKustomization())...)
	newer := guestbook()
	newer.Version = "v2"
	all = append(all, list(NewConversion("", kind, NewKind(newer)), Conversion()...)...)
	webhooks := WebhooksView{Name: "guestbook", Namespace: "guestbook-system", Mutating: true, Validating: true,
		CRDs: []string{"guestbooks.webapp.example.com"}}
	for _, certificates := range Webhooks() {
		all = append(all, list(webhooks, certificates...)...)
	}
	all = append(all, list(webhooks, append(WebhookService(), AllowWebhooks(), WebhookConversion(),
		WebhookReferences())...)...)
	all = append(all, list(ChartView{Name: "guestbook", Version: "0.1.0", Prefix: "guestbook",
		ServiceAccount: "controller-manager", Selector: "a=b"}, Chart()...)...)
	register := RegisterView{Imports: []Import{{Path: "example.com/guestbook/api"}}, APIs: []string{"api"}}
	return append(all, list(register, Register())...)
}

func list[V any](view V, templates ...Template[V]) []listed {
	var all []listed
	for _, template := range templates {
		all = append(all, listed{
			id:     template.ID,
			path:   template.Path(view),
			view:   reflect.TypeFor[V]().Name(),
			render: func() ([]byte, error) { return template.Render(view) },
		})
	}
	return all
}

func guestbook() KindNames {
	return KindNames{
		ProjectName: "guestbook", Repo: "example.com/guestbook",
		Group: "webapp", Domain: "example.com", Version: "v1", Kind: "Guestbook", Plural: "guestbooks", Namespaced: true,
	}
}

func TestIndexAndFilesAgree(t *testing.T) {
	var inIndex, onDisk []string
	for _, template := range index(t) {
		inIndex = append(inIndex, template.id)
	}
	err := fs.WalkDir(files, "files", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			onDisk = append(onDisk, strings.TrimSuffix(strings.TrimPrefix(name, "files/"), ".tmpl"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(inIndex)
	slices.Sort(onDisk)
	for _, id := range inIndex {
		if !slices.Contains(onDisk, id) {
			t.Errorf("the index lists %s, which is not in files/", id)
		}
	}
	for _, id := range onDisk {
		if !slices.Contains(inIndex, id) {
			t.Errorf("files/%s.tmpl is in no table of index.go", id)
		}
	}
	if compact := slices.Compact(slices.Clone(inIndex)); len(compact) != len(inIndex) {
		t.Errorf("a template is listed twice: %v", inIndex)
	}
}

func TestEveryTemplateNamesItsView(t *testing.T) {
	for _, template := range index(t) {
		text, err := files.ReadFile("files/" + template.id + ".tmpl")
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		want := fmt.Sprintf("{{- /* %s */ -}}", template.view)
		if strings.HasPrefix(template.id, "chart/") {
			want = fmt.Sprintf("[[- /* %s */ -]]", template.view)
		}
		if first != want {
			t.Errorf("%s begins with %q, want %q", template.id, first, want)
		}
	}
}

func TestEveryTemplateRenders(t *testing.T) {
	for _, template := range index(t) {
		out, err := template.render()
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(out)
		if strings.TrimSpace(text) == "" || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
			t.Errorf("%s does not end in one newline", template.id)
		}
		if strings.HasPrefix(text, "\n") || strings.Contains(text, "<no value>") {
			t.Errorf("%s renders with a gap:\n%s", template.id, text)
		}
		if ext := path.Ext(template.path); ext == ".yaml" || ext == ".yml" {
			for _, text := range strings.Split(string(out), "\n---\n") {
				var document map[string]any
				if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
					t.Errorf("%s: %v", template.id, err)
				}
			}
		}
	}
}

// TestTemplatesLookLikeTheirOutput keeps decisions in Go: at most a tenth of the lines of a template may be control
// lines.
func TestTemplatesLookLikeTheirOutput(t *testing.T) {
	for _, template := range index(t) {
		text, err := files.ReadFile("files/" + template.id + ".tmpl")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
		control, begin := 0, "{{-"
		if strings.HasPrefix(template.id, "chart/") {
			begin = "[[-"
		}
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, begin) && !strings.HasPrefix(line, begin+" end") {
				control++
			}
		}
		if control*10 > len(lines)+20 {
			t.Errorf("%s has %d control lines in %d", template.id, control, len(lines))
		}
	}
}

func TestWorkflowsPinActionsAndGrantNothingByDefault(t *testing.T) {
	for _, template := range index(t) {
		if !strings.HasPrefix(template.path, ".github/workflows/") {
			continue
		}
		out, err := template.render()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "\npermissions: {}\n") {
			t.Errorf("%s has permissions by default", template.path)
		}
		for line := range strings.Lines(string(out)) {
			_, action, uses := strings.Cut(line, "uses: ")
			if !uses {
				continue
			}
			_, commit, _ := strings.Cut(action, "@")
			if hash, _, _ := strings.Cut(commit, " # v"); len(hash) != 40 || strings.Trim(hash, "0123456789abcdef") != "" {
				t.Errorf("%s: not pinned by commit: %s", template.path, action)
			}
		}
	}
}

// TestEveryTemplateHasAnOwner checks that commands can find the owner of each template by its source, which
// PROJECT.lock contains.
func TestEveryTemplateHasAnOwner(t *testing.T) {
	for _, template := range index(t) {
		part, _, _ := strings.Cut(template.id, "/")
		if slices.Contains([]string{"chart", "applyconfiguration", "apiapplyconfiguration"}, part) ||
			template.id == "project/config/rbac/role.yaml" {
			continue // PROJECT.lock lists no file of it, or the file is generated later
		}
		if _, found := owners()[template.id]; !found {
			t.Errorf("owners has no %s", template.id)
		}
	}
}
