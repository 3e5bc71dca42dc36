package scaffold_test

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// byHand is a kind that a user has written in a file of an API package.
const byHand = `package PACKAGE

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=tables

// Table is written by hand.
type Table struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}

// +kubebuilder:object:root=true

// TableList is a list of tables.
type TableList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `
	Items           []Table ` + "`json:\"items\"`" + `
}

// A sentence about +kubebuilder:object:root=true is none.
type NoKind struct{}
`

const byHandGroup = `// +kubebuilder:object:generate=true
// +groupName=GROUP
package PACKAGE

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var GroupVersion = schema.GroupVersion{Group: "GROUP", Version: "PACKAGE"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

var AddToScheme = schemeBuilder.AddToScheme
`

const byHandRegistration = `package PACKAGE

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Table{}, &TableList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
`

// schemeTest is a test of the project that checks the kinds of its manager.
const schemeTest = `package main

import (
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestScheme(t *testing.T) {
	m, err := manager.New(&rest.Config{Host: "http://nowhere"}, manager.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := register(m); err != nil {
		t.Fatal(err)
	}
	for _, gvk := range []schema.GroupVersionKind{KINDS} {
		if !m.Scheme().Recognizes(gvk) {
			t.Errorf("%s is not registered", gvk)
		}
	}
}
`

// handwritten are kinds that users have written, by location.
var handwritten = map[string]struct {
	files map[string]string
	kinds string // kinds that the manager registers
	notes []string
}{
	"beside kinds of kctrl": {
		files: map[string]string{"api/v1/table_types.go": byHand},
		kinds: `{Group: "webapp.example.com", Version: "v1", Kind: "Table"}, {Group: "webapp.example.com", Version: "v1", Kind: "TableList"}`,
	},
	"in a package that kctrl completes": {
		files: map[string]string{"api/v2/table_types.go": byHand, "api/v2/doc.go": byHandGroup},
		kinds: `{Group: "api-v2.example.com", Version: "v2", Kind: "Table"}`,
	},
	"in a package that registers them": {
		files: map[string]string{"pkg/apis/hand/v2/a.go": byHand, "pkg/apis/hand/v2/b.go": byHandGroup,
			"pkg/apis/hand/v2/c.go": byHandRegistration},
		kinds: `{Group: "pkg-apis-hand-v2.example.com", Version: "v2", Kind: "Table"}`,
	},
	"in a package without a registration": {
		files: map[string]string{"other/v2/a.go": byHand},
		notes: []string{
			"other/v2/a.go:9:6: Table is a kind, but other/v2 does not register it, so no client of the manager knows it",
			"other/v2/a.go:17:6: TableList is a kind, but other/v2 does not register it, so no client of the manager knows it",
		},
	},
	"in packages that Go hides, and does not": {
		files: map[string]string{
			"internal/pkg/internal/v1/a.go": strings.Replace(byHand, "root=true", "root=false", 2), // not a kind
			"pkg/internal/v2/a.go":          byHand, "pkg/internal/v2/b.go": byHandGroup,
			"internal/apis/v2/a.go": byHand, "internal/apis/v2/b.go": byHandGroup,
			"cmd/internal/v3/a.go": byHand, "cmd/internal/v3/b.go": byHandGroup,
		},
		notes: []string{
			"pkg/internal/v2/a.go:9:6: Table is a kind, but cmd cannot import pkg/internal/v2, so no client of the manager " +
				"knows it",
			"pkg/internal/v2/a.go:17:6: TableList is a kind, but cmd cannot import pkg/internal/v2, so no client of the " +
				"manager knows it",
		},
		kinds: `{Group: "internal-apis-v2.example.com", Version: "v2", Kind: "Table"}, {Group: "cmd-internal-v3.example.com", Version: "v3", Kind: "Table"}`,
	},
	"in a package that forgets one": {
		files: map[string]string{"v2/a.go": byHand, "v2/b.go": byHandGroup, "v2/c.go": strings.Replace(byHandRegistration,
			"&Table{}, ", "", 1)},
		notes: []string{"v2/a.go:9:6: Table is a kind, but v2 does not register it, so no client of the manager knows it"},
		kinds: `{Group: "v2.example.com", Version: "v2", Kind: "TableList"}`,
	},
	"in files that are not built here, in tests, and in other modules": {
		files: map[string]string{
			"api/v1/chair_types.go":   "//go:build ignore\n\n" + byHand,
			"api/v1/shelf_test.go":    strings.ReplaceAll(byHand, "Table", "Stool"),
			"testdata/v2/a.go":        byHand,
			"nested/go.mod":           "module example.com/nested\n",
			"nested/v2/a.go":          byHand,
			"_old/v2/a.go":            byHand,
			"internal/prose/prose.go": "// Package prose mentions +kubebuilder:object:root=true.\npackage prose\n",
		},
	},
}

// writeHandwritten writes Go files. Each package has the name of its directory, and its own group.
func (p *testProject) writeHandwritten(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		folder := path.Dir(name)
		text := strings.NewReplacer("PACKAGE", path.Base(folder), "GROUP", strings.ReplaceAll(folder, "/", "-")+
			".example.com").Replace(content)
		writeFile(t, filepath.Join(p.dir, filepath.FromSlash(name)), []byte(text))
	}
}

// TestKindsWrittenByHandAreRegisteredOrReported expects that each kind is registered, or reported with its position.
func TestKindsWrittenByHandAreRegisteredOrReported(t *testing.T) {
	for name, test := range handwritten {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGuestbook(t)
			p.writeHandwritten(t, test.files)
			plan, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			for _, note := range plan.Notes() {
				notes = append(notes, note.Error())
				if note.Hint == "" {
					t.Errorf("no hint: %s", note)
				}
			}
			if strings.Join(notes, "\n") != strings.Join(test.notes, "\n") {
				t.Errorf("got notes\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(test.notes, "\n"))
			}
			if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
				t.Fatal(err)
			}
			again, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
			if err != nil {
				t.Fatal(err)
			}
			wantNoChange(t, again)
			p.checkTypes(t)
		})
	}
}

// TestManagersKnowKindsWrittenByHand runs a test in a project with all of these kinds, which checks that the manager's
// scheme contains them.
func TestManagersKnowKindsWrittenByHand(t *testing.T) {
	p := newGuestbook(t)
	var kinds []string
	for _, test := range handwritten {
		p.writeHandwritten(t, test.files)
		if test.kinds != "" {
			kinds = append(kinds, test.kinds)
		}
	}
	plan, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.dir, "cmd", "scheme_test.go"),
		[]byte(strings.Replace(schemeTest, "KINDS", strings.Join(kinds, ", "), 1)))
	p.test(t, "./cmd")
}

// TestEveryGeneratorsOutputCompiles checks scaffolded projects with kinds added before and after generation. go.mod and
// go.sum must be tidy.
func TestEveryGeneratorsOutputCompiles(t *testing.T) {
	for name, options := range map[string]scaffold.InitOptions{
		"one group":      {Domain: "example.com", Repo: "example.com/guestbook"},
		"several groups": {Domain: "example.com", Repo: "example.com/guestbook", MultiGroup: true, Namespaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.initialize(t, options)
			p.createAPI(t, guestbook)
			folder := "api/v1"
			if options.MultiGroup {
				folder = "api/webapp/v1"
			}
			info := string(readFile(t, p.dir, folder+"/groupversion_info.go"))
			info = strings.Replace(info, "// +groupName", "// +kubebuilder:ac:generate=true\n// +groupName", 1)
			writeFile(t, filepath.Join(p.dir, folder, "groupversion_info.go"), []byte(info))
			writeFile(t, filepath.Join(p.dir, "internal/controller/hook.go"), []byte(hook))
			shelf := guestbook
			shelf.Kind, shelf.Plural = "Shelf", "shelves"
			p.createAPI(t, shelf)
			everything := generate.Options{Generators: []string{generate.Object, "applyconfig", generate.CRD, generate.RBAC,
				"webhook"}}
			plan, err := p.planGenerate(t, everything)
			if err != nil {
				t.Fatal(err)
			}
			if changes := plan.Len(); changes != 2 {
				t.Errorf("create api left %d files to generate, want the webhook configurations and the lock:\n%s", changes,
					plan.Diff())
			}
			if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
				t.Fatal(err)
			}
			for _, generated := range []string{"zz_generated.deepcopy.go", "zz_generated.register.go",
				"applyconfiguration/utils.go"} {
				readFile(t, p.dir, folder+"/"+generated)
			}
			readFile(t, p.dir, "config/webhook/manifests.yaml")
			p.check(t)
			if options.MultiGroup {
				return
			}
			// A user who no longer needs them removes the marker, and runs go mod tidy to remove the modules.
			writeFile(t, filepath.Join(p.dir, folder, "groupversion_info.go"),
				[]byte(strings.Replace(info, "// +kubebuilder:ac:generate=true\n", "", 1)))
			plan, err = p.planGenerate(t, everything)
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
				t.Fatal(err)
			}
			goCommand(t, p.dir, moduleEnv(), "mod", "tidy")
			again, err := p.planGenerate(t, everything)
			if err != nil {
				t.Fatal(err)
			}
			wantNoChange(t, again)
			p.checkTypes(t)
		})
	}
}

const hook = `package controller

// +kubebuilder:webhook:path=/validate,mutating=false,failurePolicy=fail,sideEffects=None,groups=webapp.example.com,resources=guestbooks,verbs=create,versions=v1,name=vguestbook.example.com,admissionReviewVersions=v1
`

// TestVersionOfAKindLeavesOutKindsNamedLikeFields checks types with a field Status that does not use the kind Status.
func TestVersionOfAKindLeavesOutKindsNamedLikeFields(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	for _, kind := range []string{"Guestbook", "Status", "Spec", "Items"} {
		if !p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: kind, Resource: true, Controller: true,
			Namespaced: true}) {
			t.Fatalf("%s is refused", kind)
		}
	}
	if !p.run(scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true}) {
		t.Fatal("the second version is refused")
	}
	p.check()
	for name, text := range p.tree() {
		for _, kind := range []string{"Status", "Spec", "Items"} {
			if strings.HasPrefix(name, "api/v2/") && bytes.Contains(text, []byte("type "+kind+" struct")) {
				t.Errorf("%s has the kind %s", name, kind)
			}
		}
	}
}
