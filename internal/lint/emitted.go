package lint

import (
	"go/ast"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/markers"

	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// emittedTypes returns the types that affect generated files. These are the types of kinds, the types of their fields,
// and types for which deep copies are generated.
func (d *typeIndex) emittedTypes() map[*ast.TypeSpec]bool {
	r := &emission{typeIndex: d, emitted: map[*ast.TypeSpec]bool{}}
	for _, pkg := range d.all {
		whole := copiesAll(pkg.Markers)
		for _, t := range pkg.types {
			if whole || embedsMeta(t.spec) {
				r.need(t)
			}
		}
		for _, at := range pkg.Markers {
			if t := d.bySpec[at.Owner]; t != nil && at.Target == ctmarkers.DescribesType && asksForCopy(at) {
				r.need(t)
			}
		}
	}
	for len(r.queue) > 0 {
		t := r.queue[0]
		r.queue = r.queue[1:]
		r.follow(t)
	}
	return r.emitted
}

// emission collects types and the types of their fields.
type emission struct {
	*typeIndex
	emitted map[*ast.TypeSpec]bool
	queue   []*typeDecl
}

func (r *emission) need(t *typeDecl) {
	if t == nil || r.emitted[t.spec] {
		return
	}
	r.emitted[t.spec] = true
	r.queue = append(r.queue, t)
}

// follow collects the types that a declaration refers to.
func (r *emission) follow(t *typeDecl) {
	var visit func(ast.Node) bool
	visit = func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.InterfaceType, *ast.FuncType:
			return false
		case *ast.Field:
			ast.Inspect(node.Type, visit)
			return false
		case *ast.SelectorExpr:
			named, _, _ := r.lookup(t, node)
			r.need(named)
			return false
		case *ast.Ident:
			r.need(t.pkg.types[node.Name])
		}
		return true
	}
	ast.Inspect(t.spec.Type, visit)
}

// embedsMeta reports whether a type looks like a kind or its list.
func embedsMeta(spec *ast.TypeSpec) bool {
	typeMeta, objectMeta := false, false
	for _, field := range structFields(spec) {
		if field.Names != nil {
			continue
		}
		switch markers.TypeName(field.Type) {
		case "TypeMeta":
			typeMeta = true
		case "ObjectMeta", "ListMeta":
			objectMeta = true
		}
	}
	return typeMeta && objectMeta
}

// copiesAll reports whether a package has a marker that requests deep copies of all its types.
func copiesAll(places []markers.Marker) bool {
	return slices.ContainsFunc(places, func(at markers.Marker) bool {
		return at.Target == ctmarkers.DescribesPackage && asksForCopy(at)
	})
}

// asksForCopy reports whether a marker requests deep copies, even if its arguments are invalid.
func asksForCopy(at markers.Marker) bool {
	if at.Node == nil || at.Definition == nil {
		return false
	}
	asks := markers.RulesOf(at.Definition.Name).Copies
	return asks != nil && asks(at.Value)
}
