package lint

import (
	"go/ast"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// shape is what values of a Go type look like in JSON, as far as the source of the project tells.
type shape struct {
	kind  kind
	named []*typeDecl // the named types on the way, outermost first; their markers hold too
	owner *typeDecl   // where items was found
	items ast.Expr    // the type of the items of a list, or of the values of a map
}

// kind is a JSON type. The zero value stands for a type that is not known.
type kind string

const (
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindNumber  kind = "number"
	kindBoolean kind = "boolean"
	kindArray   kind = "array"
	kindMap     kind = "map" // an object with any keys
	kindStruct  kind = "object"
)

// article returns a kind with its article, as it reads in a message.
func (k kind) article() string {
	switch k {
	case kindArray:
		return "a list"
	case kindInteger:
		return "an integer"
	case kindStruct:
		return "an object"
	}
	return "a " + string(k)
}

// predeclared are the kinds of Go's own types.
var predeclared = map[string]kind{
	"string": kindString, "bool": kindBoolean, "float32": kindNumber, "float64": kindNumber,
	"int": kindInteger, "int8": kindInteger, "int16": kindInteger, "int32": kindInteger, "int64": kindInteger, "rune": kindInteger,
	"uint": kindInteger, "uint8": kindInteger, "uint16": kindInteger, "uint32": kindInteger, "uint64": kindInteger, "byte": kindInteger,
}

// foreign are the kinds of types that API packages use a lot and that are not of the project.
var foreign = map[string]kind{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":      kindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": kindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":  kindString,
	"k8s.io/apimachinery/pkg/types.UID":              kindString,
	"k8s.io/apimachinery/pkg/types.NamespacedName":   kindStruct,
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
			s.kind, s.owner, s.items = kindArray, t, e.Elt
			if element, ok := e.Elt.(*ast.Ident); ok && element.Name == "byte" && e.Len == nil {
				s.kind = kindString
			}
			return s
		case *ast.MapType:
			s.kind, s.owner, s.items = kindMap, t, e.Value
			return s
		case *ast.StructType:
			s.kind = kindStruct
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
func overriddenKind(entries []entry) (kind, bool) {
	for _, e := range entries {
		switch value := e.Value.(type) {
		case crdmarkers.Type:
			switch k := kind(value); k {
			case kindString, kindInteger, kindNumber, kindBoolean:
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

// label returns the name of a marker as the user wrote it, without its arguments.
func (e entry) label() string {
	if e.items {
		return crdmarkers.ValidationItemsPrefix + e.short()
	}
	return e.name
}
