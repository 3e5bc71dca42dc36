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
		whole := slices.ContainsFunc(pkg.Markers, func(at markers.Marker) bool {
			return at.Target == ctmarkers.DescribesPackage && asksForCopy(at)
		})
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
	return r.emitted
}

// emission collects types and the types of their fields.
type emission struct {
	*typeIndex
	emitted map[*ast.TypeSpec]bool
}

// need collects a type and the types that its declaration refers to.
func (r *emission) need(t *typeDecl) {
	if t == nil || r.emitted[t.spec] {
		return
	}
	r.emitted[t.spec] = true
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
	embedded := markers.EmbeddedTypes(spec)
	return embedded["TypeMeta"] && (embedded["ObjectMeta"] || embedded["ListMeta"])
}

// asksForCopy reports whether a marker requests deep copies, even if its arguments are invalid.
func asksForCopy(at markers.Marker) bool {
	if at.Node == nil || at.Definition == nil {
		return false
	}
	asks := markers.RulesOf(at.Definition.Name).Copies
	return asks != nil && asks(at.Value)
}
