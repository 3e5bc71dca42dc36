package templates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestNamesOfKind(t *testing.T) {
	with := func(change func(*KindNames)) KindView {
		names := guestbook()
		change(&names)
		return NewKind(names)
	}
	multigroup := func(group string) KindView {
		return with(func(n *KindNames) { n.MultiGroup, n.Group = true, group })
	}
	tests := []struct {
		name, got, want string
	}{
		{"folder", with(func(*KindNames) {}).Folder, "api/v1"},
		{"multigroup folder", multigroup("webapp").Folder, "api/webapp/v1"},
		{"folder without group", multigroup("").Folder, "api/v1"},
		{"controller folder without group", multigroup("").ControllerFolder, "internal/controller"},
		{"multigroup controller", multigroup("webapp").ControllerFile(".go"),
			"internal/controller/webapp/guestbook_controller.go"},
		{"multigroup controller name", multigroup("webapp").ControllerName, "webapp-guestbook"},
		{"group without a name of its own", with(func(n *KindNames) { n.Group = "" }).QualifiedGroup, "example.com"},
		{"alias", with(func(*KindNames) {}).Alias, "webappv1"},
		{"variable of a kind that is called as its package", with(func(n *KindNames) { n.Kind = "Webappv1" }).Variable,
			"webappv1Object"},
		{"variable of a kind that is called as that of another version",
			with(func(n *KindNames) { n.Kind = "Webappv2beta1" }).Variable, "webappv2beta1Object"},
		{"variable that no package is called as", with(func(n *KindNames) { n.Kind = "Webappv" }).Variable, "webappv"},
		{"alias of a dotted group", with(func(n *KindNames) { n.Group = "foo.policy" }).Alias, "foopolicyv1"},
		{"alias that is taken", with(func(n *KindNames) { n.Group = "meta" }).Alias, "apimetav1"},
		{"alias that begins with a digit", with(func(n *KindNames) { n.Group = "3scale" }).Alias, "api3scalev1"},
		{"sample", with(func(*KindNames) {}).SampleFile, "webapp_v1_guestbook.yaml"},
		{"crd", with(func(*KindNames) {}).CRDBase, "bases/webapp.example.com_guestbooks.yaml"},
		{"rights in one namespace", with(func(n *KindNames) { n.RestrictedTo = "guestbook-system" }).RBACNamespace,
			"namespace=guestbook-system,"},
		{"sample in a namespace", with(func(n *KindNames) { n.Namespaced = true }).SampleNamespace, "default"},
		{"sample where the manager is", with(func(n *KindNames) {
			n.Namespaced, n.RestrictedTo = true,
				"x-system"
		}).SampleNamespace, ""},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}

func TestKindInProtectedGroupIsAnnotated(t *testing.T) {
	for domain, want := range map[string]bool{"k8s.io": true, "sigs.k8s.io": true, "kubernetes.io": true,
		"x-k8s.io": false, "example.com": false} {
		names := guestbook()
		names.Domain = domain
		types, err := Types().Render(NewKind(names))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(types), "api-approved.kubernetes.io"); got != want {
			t.Errorf("%s: the types have the annotation: %t, want %t", domain, got, want)
		}
	}
}

func TestVariableHidesNothing(t *testing.T) {
	tests := map[string]string{
		"Guestbook": "guestbook",
		"CronJob":   "cronJob",
		"HTTPRoute": "httpRoute",
		"DNS":       "dns",
		"A":         "a",
		"Interface": "interfaceObject", // a keyword
		"String":    "stringObject",    // predeclared
		"Client":    "clientObject",    // an import of the controller
		"V2Ray":     "v2Ray",
		"S3Bucket":  "s3Bucket",
	}
	for kind, want := range tests {
		if got := variable(kind); got != want {
			t.Errorf("variable(%q) = %q, want %q", kind, got, want)
		}
	}
}

// TestTakenNamesAreComplete fails when a template has an import or a local variable that a kind's variable could hide.
func TestTakenNamesAreComplete(t *testing.T) {
	kind := NewKind(guestbook())
	own, foreign := AdmissionView{KindView: kind}, AdmissionView{KindView: kind, Foreign: true}
	code := slices.Concat(list(kind, Controller()...), list(kind, FurtherController()...))
	for _, view := range []AdmissionView{own, foreign} {
		code = slices.Concat(code, list(view, Defaulter()...), list(view, Validator()...))
	}
	for _, template := range code {
		text, err := template.render()
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), template.id, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		used := []string{}
		for _, spec := range file.Imports {
			name := path.Base(strings.Trim(spec.Path.Value, `"`))
			if spec.Name != nil {
				name = spec.Name.Name
			}
			used = append(used, name)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.ValueSpec:
				for _, name := range node.Names {
					used = append(used, name.Name)
				}
			case *ast.AssignStmt:
				for _, left := range node.Lhs {
					if name, ok := left.(*ast.Ident); ok {
						used = append(used, name.Name)
					}
				}
			case *ast.FuncType:
				for _, field := range node.Params.List {
					for _, name := range field.Names {
						used = append(used, name.Name)
					}
				}
			}
			return true
		})
		for _, name := range used {
			if name != "_" && name != kind.Variable && name != kind.Alias && !slices.Contains(takenNames(), name) {
				t.Errorf("%s uses %s, which takenNames does not list", template.id, name)
			}
		}
	}
}
