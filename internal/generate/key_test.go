package generate

import (
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// TestEveryOptionIsInTheKey sets one option at a time, including options added after this test was written.
func TestEveryOptionIsInTheKey(t *testing.T) {
	fsys := fstest.MapFS{}
	seen := map[incremental.Key]string{}
	count := func(name string, o Options) {
		g := &generation{dir: "/p", plan: plan.New(fsys), options: o, generators: o.chosen()}
		key, _, ok := g.key(t.Context())
		if other, known := seen[key]; known || !ok {
			t.Errorf("%s: key %v, that of %q", name, ok, other)
		}
		seen[key] = name
	}
	count("nothing", Options{})
	var set func(name string, field reflect.Value, o *Options)
	set = func(name string, field reflect.Value, o *Options) {
		switch before := reflect.ValueOf(field.Interface()); field.Kind() {
		case reflect.Struct:
			for i := range field.NumField() {
				set(name+"."+field.Type().Field(i).Name, field.Field(i), o)
			}
			return
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("x")
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Errorf("%s: a field of kind %s", name, field.Kind())
			defer field.Set(before)
		}
		count(name, *o)
		field.SetZero()
	}
	var o Options
	fields := reflect.ValueOf(&o).Elem()
	for i := range fields.NumField() {
		switch name := fields.Type().Field(i).Name; name {
		case "Warn", "Inputs", "Cache", "Made": // the receiver of warnings, and the directory of the cache
		case "Settings":
			for _, g := range generators.All() {
				settings := g.Settings()
				o.Settings = map[string]*generator.Settings{g.Name: settings}
				set(g.Name+".Folder", reflect.ValueOf(&settings.Dir).Elem(), &o)
				set(g.Name, reflect.ValueOf(settings.Options).Elem(), &o)
			}
			o.Settings = nil
		default:
			set(name, fields.Field(i), &o)
		}
	}
	for name, o := range map[string]Options{
		"header.txt": {Generators: []string{Object}, HeaderFile: "header.txt"}, "manifest.txt": {Generators: []string{CRD},
			ManifestHeaderFile: "manifest.txt"},
		DefaultHeaderFile: {Generators: []string{Object}},
	} {
		if o.HeaderFile+o.ManifestHeaderFile != "" {
			count(name+" that is not there", o)
		}
		for _, content := range []string{"", "// Copyright YEAR\n"} {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
			count(name+" with "+content, o)
		}
	}
}
