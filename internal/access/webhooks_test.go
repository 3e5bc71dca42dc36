package access

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWebhooksMayServe(t *testing.T) {
	book := func(mutating, validating bool, versions ...schema.GroupVersion) Webhooks {
		return Webhooks{Kinds: []WebhookKind{{"Book", versions, mutating, validating}}}
	}
	v1 := schema.GroupVersion{Group: "webapp.example.com", Version: "v1"}
	for name, test := range map[string]struct {
		webhooks Webhooks
		path     string
		want     bool
	}{
		"nothing":         {Webhooks{}, "/a", false},
		"unknown":         {Webhooks{Unknown: "a reason"}, "/a", true},
		"constant":        {Webhooks{Paths: []string{"/b", "/a"}}, "/a", true},
		"pattern":         {Webhooks{Paths: []string{"POST /a"}}, "/a", true},
		"other constant":  {Webhooks{Paths: []string{"/b"}}, "/a", false},
		"mutating":        {book(true, false, v1), "/mutate-webapp-example-com-v1-book", true},
		"validating":      {book(false, true, v1), "/validate-webapp-example-com-v1-book", true},
		"not validating":  {book(true, false, v1), "/validate-webapp-example-com-v1-book", false},
		"other version":   {book(true, true, v1), "/validate-webapp-example-com-v2-book", false},
		"other kind":      {book(true, true, v1), "/validate-webapp-example-com-v1-notebook", false},
		"unknown version": {book(true, true), "/validate-webapp-example-com-v3-book", true},
		"core group":      {book(true, true, schema.GroupVersion{Version: "v1"}), "/validate--v1-book", true},
	} {
		if got := test.webhooks.MayServe(test.path); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestVersionsAreCertain expects no versions for a package whose literals may not be the versions of its kinds.
func TestVersionsAreCertain(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		want int
	}{
		"literal":       {`var GroupVersion = schema.GroupVersion{Group: "a.b", Version: "v1"}`, 1},
		"constants":     {`const Group = "a.b"; var GV = schema.GroupVersion{Group, "v1"}`, 1},
		"copy":          {`var A = schema.GroupVersion{Group: "a.b", Version: "v1"}; var SchemeGroupVersion = A`, 1},
		"legacy":        {`var A, B = schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "a", Version: "v1"}`, 2},
		"other package": {`var GroupVersion = other.GroupVersion; var A = schema.GroupVersion{Version: "v1"}`, 0},
		"computed":      {`var GroupVersion = schema.GroupVersion{Group: "a.b", Version: version()}`, 0},
		"declared":      {`var A = schema.GroupVersion{Version: "v1"}; var GroupVersion schema.GroupVersion`, 0},
		"in a function": {`func f() any { return schema.GroupVersion{Version: "v1"} }`, 0},
		"none":          {``, 0},
	} {
		file := filepath.Join(t.TempDir(), "a.go")
		if err := os.WriteFile(file, []byte("package a\n\n"+test.code+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		k := &kinds{
			p:        &program{all: map[string]*packages.Package{"a": {PkgPath: "a", GoFiles: []string{file}}}},
			packages: map[string]*apiPackage{},
		}
		if got, namesakes := k.versionsOf("a"); len(got) != test.want || !namesakes {
			t.Errorf("%s: got %v, %v, want %d", name, got, namesakes, test.want)
		}
	}
}

// TestExampleServesItsWebhooks checks the webhooks of an operator with a defaulter and a validator.
func TestExampleServesItsWebhooks(t *testing.T) {
	dir, err := filepath.Abs("../../examples/cronjob")
	if err != nil {
		t.Fatal(err)
	}
	result, err := Analyze(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if result.Webhooks.Unknown != "" {
		t.Errorf("other paths may be served: %s", result.Webhooks.Unknown)
	}
	for path, want := range map[string]bool{
		"/mutate-batch-example-com-v2-cronjob": true, "/validate-batch-example-com-v2-cronjob": true,
		"/mutate-batch-example-com-v1-cronjob": false, "/convert-all": false,
	} {
		if got := result.Webhooks.MayServe(path); got != want {
			t.Errorf("%s: served is %v", path, got)
		}
	}
}
