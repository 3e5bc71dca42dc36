package verify

import (
	"context"
	"errors"
	"go/ast"
	"go/token"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/verify/convention"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// exampleMarker is the prefix of markers that contain examples.
var exampleMarker = []byte("+kctrl:example:")

// source checks the syntax trees of the Go packages of a module: the examples in markers of kinds, and the conventions.
func (r *run) source(ctx context.Context, m *module) error {
	program, err := load.Load(ctx, load.Config{Dir: m.dir, Patterns: m.patterns})
	if err != nil {
		return ctx.Err() // the generators have reported it
	}
	if r.Conventions {
		for _, e := range convention.Check(program) {
			r.moved(m, e, true)
		}
	}
	for _, pkg := range program.Packages() {
		for _, at := range pkg.Markers {
			if at.Counts() && at.Err == nil && at.Owner != nil {
				r.example(program, pkg, at)
			}
		}
	}
	return nil
}

// example checks the object in an example marker. It ignores other markers.
func (r *run) example(program *load.Program, pkg *load.Package, at markers.Marker) {
	text, words, refused, offset := "", "", false, markers.ValueOffset(at.Text)
	switch value := at.Value.(type) {
	case markers.Refused:
		text, words, refused = value.Object, value.Message, true
		offset = markers.ArgumentValueOffset(at.Text, "object")
	case string:
		if at.Definition.Name != markers.ValidExample {
			return
		}
		text = value
	default:
		return
	}
	pos := diagnostic.Relative(r.Dir, program.Fset().Position(at.Pos+token.Pos(offset)))
	object, err := readExample(text)
	if err != nil {
		r.add(&diagnostic.Error{Pos: pos, Code: sample.CodeExample, Message: "not an object in YAML: " +
			diagnostic.OneLine(err.Error()), Hint: "write it as {spec: {...}}"}, false)
		return
	}
	gvk := kindOf(pkg, at.Owner)
	object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{"name": "example"}
	}
	problems := r.kinds.Check(gvk, object)
	r.result.Objects++
	if refused {
		r.add(sample.Unexpected(pos, words, problems), false)
		return
	}
	for _, p := range problems {
		message := "the example is rejected: " + p.Message
		r.add(&diagnostic.Error{Pos: pos, Code: p.Code, Message: message, Hint: p.Hint}, false)
	}
}

// readExample decodes an object in YAML.
func readExample(text string) (map[string]any, error) {
	converted, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(converted, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("it is empty")
	}
	return object, nil
}

// kindOf returns the GroupVersionKind of a type.
func kindOf(pkg *load.Package, spec *ast.TypeSpec) schema.GroupVersionKind {
	kind := schema.GroupVersionKind{Version: pkg.Name, Kind: spec.Name.Name}
	for _, value := range pkg.Values("groupName") {
		kind.Group, _ = value.(string)
	}
	for _, value := range pkg.Values("versionName") {
		if version, ok := value.(string); ok && strings.TrimSpace(version) != "" {
			kind.Version = version
		}
	}
	return kind
}
