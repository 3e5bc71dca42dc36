package compat

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// TestEveryOptionIsInTheKey changes every option of every generator and output rule, one at a time, including options
// added after this test was written.
func TestEveryOptionIsInTheKey(t *testing.T) {
	registry, err := Registry()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	seen := map[incremental.Key]string{}
	count := func(name string, o Options, args ...string) {
		t.Helper()
		command, err := Parse(args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o.Dir, o.Cache = dir, incremental.Store{Dir: "cache"}
		key, _, ok := command.key(t.Context(), o)
		if other, known := seen[key]; known || !ok {
			t.Errorf("%s: key %v, that of %q", name, ok, other)
		}
		seen[key] = name
	}
	for _, definition := range registry.AllDefinitions() {
		if !isGenerator(definition.Name) {
			if definition.Name != "paths" {
				count(definition.Name, Options{}, "schemapatch:manifests=manifests", "crd", "object", "rbac:roleName=r", "webhook",
					"applyconfiguration",
					definition.Name+sample(t, definition.Fields))
			}
			continue
		}
		required := ""
		for _, name := range slices.Sorted(maps.Keys(definition.Fields)) {
			if field := definition.Fields[name]; !field.Optional {
				required += name + "=" + "manifests,"
			}
		}
		plain := definition.Name
		if required != "" {
			plain += ":" + required[:len(required)-1]
		}
		count(plain, Options{}, plain)
		count(plain+" elsewhere", Options{}, plain, "paths=./elsewhere")
		for name, field := range definition.Fields {
			if field.Optional {
				arg := definition.Name + ":" + required + name + "=" + value(t, field)
				count(arg, Options{}, arg)
			}
		}
	}
	fields := reflect.TypeFor[Options]()
	for i := range fields.NumField() {
		switch name := fields.Field(i).Name; name {
		case "Dir", "Cache", "Inputs": // the project, the directory of its cache, and the receiver of its warnings
		case "BuildTags":
			count("no build tag", Options{BuildTags: []string{}}, "crd")
			count("another build tag", Options{BuildTags: []string{"other"}}, "crd")
		case "Postprocess":
			count(name, Options{Postprocess: "x"}, "crd")
		case "AllowUnknown":
			count(name, Options{AllowUnknown: []string{"x"}}, "crd")
		default:
			t.Errorf("is %s in the key?", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "manifests", "a.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	count("another manifest", Options{}, "schemapatch:manifests=manifests")
}

// sample returns the text after the name of an option with one unnamed argument, or with named arguments.
func sample(t *testing.T, fields map[string]markers.Argument) string {
	text := ""
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		separator := ","
		if i == 0 {
			separator = ":"
		}
		if name == "" {
			return "=" + value(t, fields[name])
		}
		text += separator + name + "=" + value(t, fields[name])
	}
	return text
}

// value returns a value of the type of an argument.
func value(t *testing.T, argument markers.Argument) string {
	switch argument.Type {
	case markers.StringType, markers.AnyType:
		return "x"
	case markers.IntType:
		return "7"
	case markers.BoolType:
		return "true"
	case markers.SliceType:
		return "x;y"
	}
	t.Fatalf("an argument of type %v", argument.Type)
	return ""
}
