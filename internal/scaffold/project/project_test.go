package project

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const projectText = `# The project as kctrl knows it. Unknown fields and comments are kept.
version: kctrl/v1
domain: example.com
repo: example.com/guestbook
projectName: guestbook
namespaced: true
runtime: bundled
owner: The Authors
license: apache2
resources:
  - group: webapp
    domain: example.com
    version: v1
    kind: Guestbook
    plural: guestbooks
    namespaced: true
    api: true
    controller: true
`

func guestbookProject() *Project {
	return &Project{
		Domain: "example.com", Repo: "example.com/guestbook", Name: "guestbook", Namespaced: true, Runtime: Bundled,
		Owner: "The Authors", License: "apache2",
		Resources: []Resource{{
			Group: "webapp", Domain: "example.com", Version: "v1", Kind: "Guestbook", Plural: "guestbooks",
			Namespaced: true, API: true, Controller: true,
		}},
	}
}

func loadText(text string) (*Project, error) {
	return Load(fstest.MapFS{File: {Data: []byte(text)}})
}

func TestNewProjectIsWrittenAndReadBack(t *testing.T) {
	before, _, _ := strings.Cut(projectText, "  - group")
	kind := "  - {group: webapp, domain: example.com, version: v1, kind: Guestbook, plural: guestbooks, namespaced: " +
		"true, api: true, controller: true}"
	// The user may have added a comment; in the first format, a kind had its own lines.
	for _, text := range []string{before + kind + "\n", before + kind + " # ours\n", projectText} {
		p, err := loadText(text)
		must(t, err)
		if diff := cmp.Diff(guestbookProject(), p, cmpopts.IgnoreUnexported(Project{})); diff != "" {
			t.Error(diff)
		}
		if len(p.Warnings()) != 0 {
			t.Errorf("warnings %v", p.Warnings())
		}
		other := p.Resources[0]
		other.Kind, other.Plural = "Apple", "apples"
		must(t, p.Add(other))
		got, err := p.Marshal()
		must(t, err)
		want := text + strings.NewReplacer("Guestbook", "Apple", "guestbooks", "apples").Replace(kind) + "\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
	text, err := guestbookProject().Marshal()
	must(t, err)
	if diff := cmp.Diff(before+kind+"\n", string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestUnchangedProjectKeepsEveryByte(t *testing.T) {
	odd := strings.NewReplacer(
		"domain: example.com\nrepo", "\n\ndomain:   'example.com' # why\nrepo",
		"namespaced: true\nruntime", "namespaced: True\nruntime",
	).Replace(projectText) + "\n\n# end"
	for _, text := range []string{projectText, odd, strings.ReplaceAll(odd, "\n", "\r\n"), "---\n" + odd} {
		p, err := loadText(text)
		must(t, err)
		got, err := p.Marshal()
		must(t, err)
		if string(got) != text {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
}

func TestSaveKeepsCommentsAndUnknownFields(t *testing.T) {
	p, err := loadText(`# a header

# about the version
version: kctrl/v1
x-team: {name: storage, oncall: [a, b]} # who
domain: example.com # the domain
repo: example.com/guestbook
projectName: guestbook
resources:
  # the first kind
  - kind: Guestbook # its kind
    version: v1
    x-note: kept
    group: webapp
    domain: example.com
    plural: guestbooks
    api: true
# after all
`)
	must(t, err)
	var warned []string
	for _, w := range p.Warnings() {
		warned = append(warned, w.Error())
	}
	wantWarnings := []string{`PROJECT:5:1: unknown field "x-team"`, `PROJECT:13:5: unknown field "resources[0].x-note"`}
	if diff := cmp.Diff(wantWarnings, warned); diff != "" {
		t.Error(diff)
	}
	p.MultiGroup = true
	p.Domain = "example.org"
	r, ok := p.Find("webapp.example.com", "v1", "Guestbook")
	if !ok {
		t.Fatal("not found")
	}
	r.Controller = true
	must(t, p.Add(Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Controller: true}))
	got, err := p.Marshal()
	must(t, err)
	want := `# a header

# about the version
version: kctrl/v1
x-team: {name: storage, oncall: [a, b]} # who
domain: example.org # the domain
repo: example.com/guestbook
projectName: guestbook
multigroup: true
resources:
  # the first kind
  - kind: Guestbook # its kind
    version: v1
    x-note: kept
    group: webapp
    domain: example.com
    plural: guestbooks
    api: true
    controller: true
  - {group: apps, version: v1, kind: Deployment, plural: deployments, controller: true}
# after all
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	again, err := loadText(string(got))
	must(t, err)
	if diff := cmp.Diff(p, again, cmpopts.IgnoreUnexported(Project{})); diff != "" {
		t.Error(diff)
	}
}

func TestRemovedResourceLeavesTheFile(t *testing.T) {
	p, err := loadText(projectText)
	must(t, err)
	p.Resources = nil
	got, err := p.Marshal()
	must(t, err)
	again, err := loadText(string(got))
	must(t, err)
	if len(again.Resources) != 0 || strings.Contains(string(got), "resources") {
		t.Errorf("got %s", got)
	}
}

// TestFlagsAreKeptAsTheyAreTyped writes flags with arbitrary content, and reads them back.
func TestFlagsAreKeptAsTheyAreTyped(t *testing.T) {
	flags := []string{
		"--field=a:string", `--field=b:string,doc="it's {so}, [and] #1: more"`, "--match-condition=a=x == '1' || true",
		"--finalizer", "--image=", "--image= ", "--image=null",
		"--field=c:string,doc=\"Grüße\n\tand more\"", "--verbs=- a", "--verbs=: &b *c !d | > % @ `",
		"--verbs=\u2028\ufeff\x7f",
	}
	p := guestbookProject()
	p.Resources[0].APIFlags, p.Resources[0].PolicyFlags = flags, flags[1:2]
	text, err := p.Marshal()
	must(t, err)
	again, err := loadText(string(text))
	must(t, err)
	if diff := cmp.Diff(p, again, cmpopts.IgnoreUnexported(Project{})); diff != "" {
		t.Error(diff)
	}
	if lines := strings.Count(string(text), "\n"); lines != strings.Count(projectText, "\n")-7 {
		t.Errorf("a kind is not one line, which git merges:\n%s", text)
	}
	again.Resources[0].APIFlags = nil
	text, err = again.Marshal()
	must(t, err)
	if strings.Contains(string(text), "apiFlags") {
		t.Errorf("no flags, and got\n%s", text)
	}
}

func TestSaveKeepsLineEnds(t *testing.T) {
	p, err := loadText(strings.ReplaceAll(projectText, "\n", "\r\n"))
	must(t, err)
	p.Owner = "Somebody Else"
	got, err := p.Marshal()
	must(t, err)
	want := strings.ReplaceAll(strings.Replace(projectText, "The Authors", "Somebody Else", 1), "\n", "\r\n")
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenProjectIsReportedWithPositionAndHint(t *testing.T) {
	item := "resources:\n  - group: webapp\n    domain: example.com\n    version: v1\n    kind: Guestbook\n    plural: " +
		"guestbooks\n    api: true\n"
	head := "version: kctrl/v1\ndomain: example.com\nrepo: example.com/g\nprojectName: g\n"
	for _, tt := range []struct {
		rule, text string
		want       []string // error and start of its hint
	}{
		{"empty", "", []string{"PROJECT:1:1: not a project file", "restore it"}},
		{"only a comment", "# nothing\n", []string{"PROJECT:1:1: not a project file", "restore it"}},
		{"list", "- a\n", []string{"PROJECT:1:1: not a project file", "restore it"}},
		{"not YAML", head + "a: [\n", []string{"PROJECT:5: not valid YAML: did not find expected node content", "repair it"}},
		{"second document", head + "---\na: b\n", []string{"PROJECT:5:1: the file has a second document", "remove it"}},
		{"no version", "domain: example.com\n", []string{"PROJECT:1:1: version is missing",
			"this kctrl supports projects of version kctrl/v1"}},
		{"kubebuilder", "layout:\n- go.kubebuilder.io/v4\nversion: \"3\"\n", []string{
			`PROJECT:3:10: this is a project of kubebuilder`,
			"kctrl migrate converts it; kctrl generate, manifests and gen accept version 3 unchanged"}},
		{"version of another type", "version: [3]\n", []string{`PROJECT:1:10: version: want a text, got a list`,
			"this kctrl supports"}},
		{"missing fields", "version: kctrl/v1\nrepo: example.com/g\n", []string{
			"PROJECT:1:1: domain is missing", "write domain: example.com",
			"PROJECT:1:1: projectName is missing", "write projectName: guestbook"}},
		{"wrong types", "version: kctrl/v1\ndomain: 1\nrepo: [a]\nprojectName: {}\nmultigroup: \"true\"\nowner:\nlicense: " +
			"true\n", []string{
			`PROJECT:2:9: domain: want a text, got 1`, `write domain: "1"`,
			`PROJECT:3:7: repo: want a text, got a list`, `write repo: "example.com/guestbook"`,
			`PROJECT:4:14: projectName: want a text, got a mapping`, `write projectName: "guestbook"`,
			`PROJECT:5:13: multigroup: want true or false, got "true"`, "write multigroup: true",
			`PROJECT:6:7: owner: want a text, got nothing`, "write",
			`PROJECT:7:10: license: want a text, got true`, `write license: "true"`}},
		{"invalid values", "version: kctrl/v1\ndomain: Example.com\nrepo: https://x.io/y\nprojectName: G\nruntime: " +
			"vendored\nlicense: mit\nowner: a*/b\n", []string{
			`PROJECT:2:9: invalid domain "Example.com"`, `use "example.com"`,
			`PROJECT:3:7: invalid module path "https://x.io/y"`, `use "x.io/y"`,
			`PROJECT:4:14: invalid project name "G"`, `use "g"`,
			`PROJECT:5:10: unknown runtime "vendored"`, "use bundled or module",
			`PROJECT:6:10: unknown license "mit"`, "use apache2 or none",
			`PROJECT:7:8: invalid owner "a*/b"`, "use"}},
		{"field given twice", head + "domain: other.com\n", []string{"PROJECT:5:1: domain is given twice", "remove one"}},
		{"resources of another type", head + "resources: yes\n", []string{`PROJECT:5:12: resources: want a list, got "yes"`,
			"write each"}},
		{"resource of another type", head + "resources:\n- a\n",
			[]string{`PROJECT:6:3: resources: want group, version, kind and so on, got "a"`, "write"}},
		{"alias", head + "x-a: &a text\nowner: *a\n", []string{"PROJECT:6:8: owner: want a text, got the alias *a",
			`write owner: "text"`}},
		{"resource without kind", head + "resources:\n- group: webapp\n  version: v1\n  plural: xs\n",
			[]string{"PROJECT:6:3: kind is missing", "write kind: Guestbook"}},
		{"resource without group", head + "resources:\n- version: v1\n  kind: X\n  plural: xs\n  api: true\n", []string{
			"PROJECT:6:3: neither group nor domain is given", "write group"}},
		{"resource with invalid values", head + "resources:\n- group: Web\n  version: one\n  kind: guest\n  plural: G\n",
			[]string{
				`PROJECT:6:10: invalid group "Web"`, `use "web"`, `PROJECT:7:12: invalid version "one"`, `use "v1"`,
				`PROJECT:8:9: invalid kind "guest"`, `use "Guest"`, `PROJECT:9:11: invalid plural "G"`, `use "g"`}},
		{"flags of another type", head + item + "    apiFlags: yes\n    policyFlags: [1]\n", []string{
			`PROJECT:12:15: apiFlags: want a list of texts, got "yes"`, "write apiFlags: [--field=size:int32]",
			"PROJECT:13:19: policyFlags: want a list of texts, got 1", "write policyFlags: [--failure-policy=ignore]"}},
		{"no flags", head + item + "    apiFlags: [field=a:string]\n    defaultingFlags: [\"--\\x01\"]\n", []string{
			`PROJECT:12:15: "field=a:string" is not a flag of kctrl create`, "write it as it is typed",
			`PROJECT:13:22: "--\x01" is not a flag of kctrl create`, "write it as it is typed"}},
		{"kind twice", head + item + item[len("resources:\n"):], []string{
			"PROJECT:15:11: the kind webapp.example.com/v1.Guestbook exists already", "give it another"}},
		{"kinds that differ in case only", head + item + strings.Replace(item[len("resources:\n"):], "Guestbook", "GuestBook",
			1), []string{
			"PROJECT:15:11: the kind webapp.example.com/v1.Guestbook exists already", "give it another"}},
		{"plural twice", head + item + strings.Replace(item[len("resources:\n"):], "Guestbook", "Other", 1), []string{
			"PROJECT:16:13: the plural guestbooks belongs to webapp.example.com/v1.Guestbook", "give the kind another plural"}},
		{"two plurals of a kind", head + item + strings.NewReplacer("v1", "v2", "guestbooks",
			"books").Replace(item[len("resources:\n"):]), []string{
			"PROJECT:16:13: the plural of webapp.example.com/v1.Guestbook is guestbooks, not books", "use the same plural"}},
		{"two scopes of a kind", head + item + strings.NewReplacer("v1", "v2", "api",
			"namespaced").Replace(item[len("resources:\n"):]), []string{
			"PROJECT:17:17: webapp.example.com/v2.Guestbook has another scope", "use the same scope"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p, err := loadText(tt.text)
			if p != nil || err == nil {
				t.Fatal("no error")
			}
			errs := diagnostic.All(err)
			for i, err := range errs {
				e, ok := errors.AsType[*diagnostic.Error](err)
				if !ok || 2*i >= len(tt.want) || !strings.HasPrefix(e.Error(), tt.want[2*i]) ||
					!strings.HasPrefix(e.Hint, tt.want[2*i+1]) || e.Hint == "" {
					t.Errorf("error %d: %v (%s)", i, err, e.Hint)
				}
				if strings.Contains(err.Error(), "\n") || errors.Is(err, diagnostic.ErrUsage) {
					t.Errorf("error %d: %v", i, err)
				}
			}
			if len(errs)*2 != len(tt.want) {
				t.Errorf("%d errors, want %d:\n%v", len(errs), len(tt.want)/2, err)
			}
		})
	}
}

// TestKindsInAModuleOfTheirOwn checks that they are imported by the path of their directory. A module with another path
// does not belong to the project.
func TestKindsInAModuleOfTheirOwn(t *testing.T) {
	load := func(text string, files map[string]string) error {
		fsys := fstest.MapFS{File: {Data: []byte(text)}}
		for name, content := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
		}
		_, err := Load(fsys)
		return err
	}
	for name, content := range map[string]string{
		"api/go.mod": "module example.com/other\n", "api/webapp/go.mod": "module example.com/guestbook/api\n",
		"api/v1/go.mod":        "module example.com/guestbook/api/v1\n",
		"api/webapp/v1/go.mod": "go 1.26\n",
	} {
		err := load(projectText, map[string]string{name: content})
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || e.Pos.Filename != name || e.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	declared := strings.Replace(projectText, "resources:", "apiModule: true\nresources:", 1)
	if err := load(declared, nil); err == nil || !strings.Contains(err.Error(), "there is no api/go.mod") {
		t.Errorf("a module that is not there: got %v", err)
	}
	for _, text := range []string{projectText, declared} {
		if err := load(text, map[string]string{"api/go.mod": "module example.com/guestbook/api\n",
			"pkg/go.mod": "module example.com/other\n"}); err != nil {
			t.Errorf("modules are in the way: %v", err)
		}
	}
}

func TestNoFile(t *testing.T) {
	_, err := Load(fstest.MapFS{})
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "no PROJECT file in this directory" {
		t.Errorf("got %v", err)
	}
}

func TestValuesSetInCodeAreUsageErrors(t *testing.T) {
	p, err := loadText(projectText)
	must(t, err)
	p.Domain = "Nope"
	err = p.Validate()
	if !errors.Is(err, diagnostic.ErrUsage) || !strings.HasPrefix(err.Error(), "invalid domain") {
		t.Errorf("got %v", err)
	}
	if err := p.Add(p.Resources[0]); !errors.Is(err, diagnostic.ErrUsage) || len(p.Resources) != 1 {
		t.Errorf("got %v", err)
	}
}

func FuzzProject(f *testing.F) {
	f.Add(projectText)
	f.Add("version: kctrl/v1\ndomain: &a a.b\nrepo: c.d/e\nprojectName: f\nx: *a\nresources: [{kind: A, version: v1, " +
		"plural: as, group: b}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := loadText(text)
		if err != nil {
			return
		}
		same, err := p.Marshal()
		if err != nil || string(same) != text {
			t.Fatalf("unchanged: %v, got %q", err, same)
		}
		p.MultiGroup = !p.MultiGroup
		if err := p.Add(Resource{Group: "fuzz.fuzz", Version: "v1", Kind: "Fuzz", Plural: "fuzzes"}); err != nil {
			return
		}
		changed, err := p.Marshal()
		must(t, err)
		again, err := loadText(string(changed))
		if err != nil {
			t.Fatalf("%v in\n%s", err, changed)
		}
		if diff := cmp.Diff(p, again, cmpopts.IgnoreUnexported(Project{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s in\n%s", diff, changed)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
