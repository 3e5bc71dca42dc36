package lint

import (
	"go/ast"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// shape is what values of a Go type look like in JSON, as far as the source of the project tells.
type shape struct {
	kind  markers.Kind
	named []*typeDecl // the named types on the way, outermost first; their markers hold too
	owner *typeDecl   // where items was found
	items ast.Expr    // the type of the items of a list, or of the values of a map
}

// article returns a kind with its article, as it reads in a message.
func article(k markers.Kind) string {
	switch k {
	case markers.KindArray:
		return "a list"
	case markers.KindInteger:
		return "an integer"
	case markers.KindStruct:
		return "an object"
	}
	return "a " + string(k)
}

// predeclared are the kinds of Go's own types.
var predeclared = map[string]markers.Kind{
	"string": markers.KindString, "bool": markers.KindBoolean, "float32": markers.KindNumber, "float64": markers.KindNumber,
	"int": markers.KindInteger, "int8": markers.KindInteger, "int16": markers.KindInteger, "int32": markers.KindInteger, "int64": markers.KindInteger, "rune": markers.KindInteger,
	"uint": markers.KindInteger, "uint8": markers.KindInteger, "uint16": markers.KindInteger, "uint32": markers.KindInteger, "uint64": markers.KindInteger, "byte": markers.KindInteger,
}

// foreign are the kinds of types that API packages use a lot and that are not of the project.
var foreign = map[string]markers.Kind{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":      markers.KindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": markers.KindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":  markers.KindString,
	"k8s.io/apimachinery/pkg/types.UID":              markers.KindString,
	"k8s.io/apimachinery/pkg/types.NamespacedName":   markers.KindStruct,
}

// shapeOf returns the shape of a type that is written in t.
func (d *typeIndex) shapeOf(t *typeDecl, expr ast.Expr) shape {
	var s shape
	for range maxDepth {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.ArrayType:
			s.kind, s.owner, s.items = markers.KindArray, t, e.Elt
			if element, ok := e.Elt.(*ast.Ident); ok && element.Name == "byte" && e.Len == nil {
				s.kind = markers.KindString
			}
			return s
		case *ast.MapType:
			s.kind, s.owner, s.items = markers.KindMap, t, e.Value
			return s
		case *ast.StructType:
			s.kind = markers.KindStruct
			return s
		case *ast.Ident, *ast.SelectorExpr:
			named, importPath, name := d.lookup(t, expr)
			if named == nil {
				s.kind = foreign[importPath+"."+name]
				if importPath == "" {
					s.kind = predeclared[name]
				}
				return s
			}
			s.named = append(s.named, named)
			override, ok := overriddenKind(named.entries)
			if ok || named.custom || named.spec.TypeParams != nil {
				s.kind = override
				return s
			}
			t, expr = named, named.spec.Type
		default:
			return s
		}
	}
	return shape{}
}

// overriddenKind returns the kind that markers give a type or field regardless of its Go type. The kind is not known if
// they allow anything.
func overriddenKind(entries []entry) (markers.Kind, bool) {
	for _, e := range entries {
		switch value := e.Value.(type) {
		case crdmarkers.Type:
			switch k := markers.Kind(value); k {
			case markers.KindString, markers.KindInteger, markers.KindNumber, markers.KindBoolean:
				return k, !e.items
			}
			if !e.items {
				return "", true
			}
		case crdmarkers.XIntOrString, crdmarkers.Schemaless, crdmarkers.XPreserveUnknownFields, crdmarkers.XEmbeddedResource:
			if !e.items {
				return "", true
			}
		}
	}
	return "", false
}

// entry is a marker with its value.
type entry struct {
	markers.Marker
	name  string // of the definition, without "items:"
	items bool   // about the items of a list
}

// short returns the last part of the name of a marker.
func (e entry) short() string { return e.name[strings.LastIndexByte(e.name, ':')+1:] }

// rules returns what is known of the marker.
func (e entry) rules() markers.Rules { return markers.RulesOf(e.name) }

// label returns the name of a marker as the user wrote it, without its arguments.
func (e entry) label() string {
	if e.items {
		return crdmarkers.ValidationItemsPrefix + e.short()
	}
	return e.name
}
