package scaffold_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// fieldWriter generates random valid flags about fields.
type fieldWriter struct {
	*rand.Rand
	flags []string
}

func (w *fieldWriter) pick(all ...string) string { return all[w.IntN(len(all))] }

// some returns each of the constraints with a probability of one half.
func (w *fieldWriter) some(constraints ...string) string {
	out := ""
	for _, c := range constraints {
		if w.IntN(2) == 0 {
			out += "," + c
		}
	}
	return out
}

// scalar returns a type with constraints.
func (w *fieldWriter) scalar() string {
	switch w.IntN(9) {
	case 0:
		return w.pick("int32", "int64") + w.some("min=2", "max=90", "multipleOf=3")
	case 1:
		return "string" + w.some("minLength=2", "maxLength=40") + w.pick("", ",pattern=^[a-z]{2}(-[0-9a-z]+)*$",
			`,pattern="^\w+$"`)
	case 2:
		return "string,format=" + w.pick("uri", "email", "hostname", "ipv4", "ipv6", "cidr", "uuid", "byte", "date",
			"date-time", "duration", "mac")
	case 3:
		return "string,enum=" + w.pick("Fast|Safe", "a|A", "1|2|x y|on|true", `"it's"|{}|a;b`)
	case 4:
		return "int32,enum=" + w.pick("1|2|3", "-5|0")
	case 5:
		return "bool"
	}
	return w.pick("quantity", "duration", "int-or-string", "time", "microtime", "string", "int64")
}

// fields writes flags for the fields of an object.
func (w *fieldWriter) fields(prefix string, depth int) {
	for i := range 1 + w.IntN(5) {
		name := fmt.Sprintf("%s%s%d", prefix, w.pick("size", "podIp", "httpURL", "list", "spec"), i)
		need := w.pick("", "", ",optional", ",required")
		if need == "" && w.IntN(3) == 0 {
			need = `,immutable`
		}
		switch kind := w.IntN(8); {
		case kind < 3:
			w.flags = append(w.flags, name+":"+w.scalar()+need)
		case kind == 3:
			w.flags = append(w.flags, name+":[]"+w.scalar()+w.some("minItems=1", "maxItems=5")+need)
		case kind == 4:
			w.flags = append(w.flags, name+":map[string]"+w.scalar()+w.some("minProperties=2", "maxProperties=5")+need)
		case kind == 5:
			w.flags = append(w.flags, name+":"+w.pick("", "[]", "map[string]")+"ref="+w.pick("ConfigMap", "Secret",
				"Secret/key")+strings.Replace(need, ",immutable", "", 1))
		case depth > 0:
			form := w.pick("", "", "[]", "{}")
			if kind == 6 {
				w.flags = append(w.flags, name+":"+map[string]string{"": "object", "[]": "[]object",
					"{}": "map[string]object"}[form]+strings.Replace(need, ",immutable", "", 1))
			}
			from := len(w.flags)
			w.fields(name+form+".", depth-1)
			if form != "" { // the previous item of a list is unknown, and a key of a map may occur twice
				for j := range w.flags[from:] {
					w.flags[from+j] = strings.Replace(w.flags[from+j], ",immutable", "", 1)
				}
			}
		}
	}
	if len(w.flags) == 0 || prefix != "" && !strings.HasPrefix(w.flags[len(w.flags)-1], prefix) {
		w.flags = append(w.flags, prefix+"name:string,default=x")
	}
}

// TestRandomFieldsMakeKinds creates kinds with random fields. Their Go code is formatted and has no type errors, API
// servers accept their CRDs and samples, and the tests pass.
func TestRandomFieldsMakeKinds(t *testing.T) {
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		p := newRandomKinds(t, rand.New(rand.NewPCG(seed, 7)))
		p.check(t)
		if t.Failed() {
			return
		}
		crds := testenv.WithCRDs(filepath.Join(p.dir, "config", "crd", "bases"))
		for name, start := range apiServers {
			t.Run(name, func(t *testing.T) { start(t, crds).dryRunSamples(t, p) })
		}
		t.Run("tests", func(t *testing.T) { p.test(t, "./internal/controller/...") })
	})
}

// newRandomKinds creates a project with kinds of random fields.
func newRandomKinds(t *testing.T, r *rand.Rand) *testProject {
	t.Helper()
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none"})
	for i := range 8 {
		w := &fieldWriter{Rand: r}
		w.fields("", 2)
		opts := scaffold.APIOptions{
			Group: "webapp", Version: "v1", Kind: fmt.Sprintf("Random%d", i), Resource: true, Controller: true,
			Namespaced: i%3 > 0,
			Shape: render.Shape{Fields: append(w.flags, "checks:[]condition"), StatusFields: []string{"used:quantity",
				"parts[].name:string", "checks:[]condition"}, ShortNames: []string{fmt.Sprintf("r%d", i)}},
		}
		if i%2 == 0 {
			opts.Shape.Scale = "default"
			opts.Shape.Columns = []string{"Replicas:integer:.spec.replicas"}
		}
		p.write(t, opts)
	}
	p.generateAll(t)
	return p
}

// TestOddNamesMakeKinds creates kinds, groups, versions and fields with names that Go, the runtime and their own files
// use. The project must build and pass its scaffolded tests.
func TestOddNamesMakeKinds(t *testing.T) {
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "3scale.example2.io", Repo: "example.com/guestbook", License: "none",
		MultiGroup: true})
	fields := []string{
		"spec:object", "spec.type:string,enum=Func|Map,default=Func", "list:[]object,key=name", "list[].name:string",
		"list[].kinds:[]string,enum=A|B,maxItems=3", "status:object",
		"status.list:map[string]object", "status.list{}.range:int-or-string,default=50%", "type:string",
		"func:int64,default=-1", "interface:bool,default=true", "string:quantity,default=1Gi",
		"error:duration,default=1h", "deepCopyObject:time,optional", "apiVersion2:ref=Secret,optional",
		"getName:map[string]quantity,optional", "objectMeta:[]int32,unique,default=[1],optional",
		"uRL:string,format=uri", "x:microtime,optional", "nil:[]ref=ConfigMap,optional",
	}
	kinds := []string{"Type", "String", "Error", "Config", "Controller", "Manager", "Webhook", "Client", "Test", "Func"}
	groups, versions := []string{"core", "apps", "3d.a-b"}, []string{"v2alpha1", "v10", "v1beta12"}
	for i, kind := range kinds {
		opts := scaffold.APIOptions{
			Group: groups[i%len(groups)], Version: versions[i%len(versions)], Kind: kind, Resource: true, Controller: true,
			Namespaced: i%4 != 0,
		}
		if i%2 == 0 {
			opts.Shape.Fields = fields
		} else if opts.Namespaced {
			opts.Operand = &render.Operand{Port: 80, Finalizer: i%3 == 0}
		}
		p.write(t, opts)
		p.planned(t, scaffold.WebhookOptions{Group: opts.Group, Version: opts.Version, Kind: kind, Defaulting: true,
			Validation: true, Policy: true})
		if i%5 == 0 {
			opts.Version, opts.Controller, opts.Operand, opts.Shape.Fields = "v11", false, nil,
				[]string{"more:[]string,optional"}
			p.write(t, opts)
		}
	}
	for _, group := range []string{"v1", "test", "meta", "cmd", "go", "client"} {
		p.write(t, scaffold.APIOptions{Group: group, Version: "v1", Kind: "List1", Resource: true})
	}
	p.generateAll(t)
	p.check(t)
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/...") })
}

// write does the part of create api that precedes generation.
func (p *testProject) write(t *testing.T, opts scaffold.APIOptions) {
	t.Helper()
	p.planned(t, opts)
}

// planned executes the part of a create command that precedes generation.
func (p *testProject) planned(t *testing.T, opts any) {
	t.Helper()
	root := p.open(t)
	fsys := afero.NewIOFS(root)
	proj, err := project.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planOf(fsys, proj, opts)
	if err != nil {
		t.Fatalf("%+v: %v", opts, err)
	}
	if err := plan.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
}

func (p *testProject) generateAll(t *testing.T) {
	t.Helper()
	root := p.open(t)
	fsys := afero.NewIOFS(root)
	proj, err := project.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	plan := plan.New(fsys)
	err = generate.Run(t.Context(), p.dir, plan, proj,
		generate.Options{Generators: []string{generate.Object, generate.CRD, generate.RBAC, "webhook"}})
	if err != nil {
		t.Fatal(errors.Join(diagnostic.All(err)...))
	}
	if err := plan.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
}

// dryRunSamples creates all samples by a dry run.
func (s apiServer) dryRunSamples(t *testing.T, p *testProject) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "config", "samples", "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no samples: %v", err)
	}
	for _, file := range files {
		sample := &unstructured.Unstructured{}
		readYAML(t, file, &sample.Object)
		if err := s.Create(t.Context(), sample, client.DryRunAll,
			client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestFurtherVersionHasMoreFields checks that a second version of a kind is a copy with additional fields, and that
// conversions to the first version lose no field.
func TestFurtherVersionHasMoreFields(t *testing.T) {
	p := newGuestbook(t)
	v2 := guestbook
	v2.Version, v2.Controller = "v2", false
	v2.Shape.Fields = []string{"size:int32,min=1,default=3", "limits:map[string]quantity,optional",
		"mode:string,enum=Fast|Safe,optional", "template.image:string,default=x"}
	v2.Shape.StatusFields = []string{"used:quantity"}
	p.createAPI(t, v2)
	p.check(t)
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/conversion/...") })

	v3 := v2
	v3.Version = "v3"
	v3.Shape.Fields = []string{"message:string,optional"}
	if _, err := p.planAPI(t, v3); !errors.Is(err, diagnostic.ErrUsage) ||
		!strings.Contains(err.Error(), "has the field message already") {
		t.Errorf("a field that is there: got %v, want it refused", err)
	}
}

// TestControllerOfTypesThatAreThere creates controllers for types that already exist and whose fields differ from the
// example's.
func TestControllerOfTypesThatAreThere(t *testing.T) {
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none"})
	types := guestbook
	types.Controller, types.Shape.Fields = false, []string{"size:int32,min=1", "mode:string,enum=Fast|Safe"}
	p.createAPI(t, types)
	p.create(t, scaffold.ControllerOptions{Group: "webapp", Version: "v1", Kind: "Guestbook"})
	shelf := types
	shelf.Kind = "Shelf"
	p.createAPI(t, shelf)
	shelf = guestbook
	shelf.Kind, shelf.Resource = "Shelf", false
	p.createAPI(t, shelf)
	book := types
	book.Kind = "Book"
	p.createAPI(t, book)
	book = guestbook // a version with copied types and a controller
	book.Kind, book.Version = "Book", "v2"
	p.createAPI(t, book)
	p.check(t)
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/controller/...") })
}

// TestFieldsOfAFurtherVersionAddToTheImports creates a version whose fields need a package that the copied types lack.
func TestFieldsOfAFurtherVersionAddToTheImports(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	api := scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Namespaced: true}
	p.run(api)
	api.Version, api.Shape.Fields = "v2", []string{"storage:quantity,optional"}
	p.run(api)
	types := string(p.tree()["api/v2/guestbook_types.go"])
	if strings.Count(types, "\nimport (") != 1 || strings.Count(types, `"k8s.io/apimachinery/pkg/api/resource"`) != 1 {
		t.Errorf("want one import declaration with package resource, got:\n%s", types)
	}
}
