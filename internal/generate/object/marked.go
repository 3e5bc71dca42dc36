package object

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// The markers that ask for deep copies, and those of deepcopy-gen that mean the same.
const (
	generateMarker         = "kubebuilder:object:generate"
	rootMarker             = "kubebuilder:object:root"
	legacyGenerateMarker   = "k8s:deepcopy-gen"
	legacyInterfacesMarker = "k8s:deepcopy-gen:interfaces"
)

// objectInterface is the value of the legacy marker that asks for DeepCopyObject.
const objectInterface = "k8s.io/apimachinery/pkg/runtime.Object"

// markerNames are the names of the markers that ask for deep copies.
var markerNames = []string{generateMarker, rootMarker, legacyGenerateMarker, legacyInterfacesMarker}

// packageAsks reports whether a package asks for the deep copies of all its types.
func packageAsks(values ctmarkers.MarkerValues) bool {
	if asks, ok := values.Get(generateMarker).(bool); ok {
		return asks
	}
	legacy, _ := values.Get(legacyGenerateMarker).(ctmarkers.RawArguments)
	scope, _, _ := strings.Cut(string(legacy), ",")
	return scope == "package"
}

// typeAsks reports whether a type gets deep copies, in a package that asks for those of all its types or does not.
func typeAsks(values ctmarkers.MarkerValues, all bool) bool {
	if asks, ok := values.Get(generateMarker).(bool); ok {
		return asks
	}
	if legacy, ok := values.Get(legacyGenerateMarker).(ctmarkers.RawArguments); ok {
		return string(legacy) == "true"
	}
	return all || isObject(values)
}

// isObject reports whether a type is to be a runtime.Object.
func isObject(values ctmarkers.MarkerValues) bool {
	if root, ok := values.Get(rootMarker).(bool); ok {
		return root
	}
	return slices.Contains(values[legacyInterfacesMarker], any(objectInterface))
}

// copied are the types of a package that have deep copies generated.
func copied(pkg *loader.Package, infos []*ctmarkers.TypeInfo, all bool) []*copiedType {
	var found []*copiedType
	for _, info := range infos {
		if !ast.IsExported(info.Name) || !typeAsks(info.Markers, all) {
			continue
		}
		named, ok := pkg.TypesInfo.TypeOf(info.RawSpec.Name).(*types.Named)
		if !ok {
			continue // another name for a type, or nothing
		}
		t := &copiedType{named: named, spec: info.RawSpec, object: isObject(info.Markers), manual: declared(named)}
		switch named.Underlying().(type) {
		case *types.Struct, *types.Slice, *types.Map, *types.Array:
			found = append(found, t)
		case *types.Basic:
			if t.manual.any() {
				found = append(found, t)
			}
		}
	}
	return found
}

// leftOut returns the types of a package that a marker says not to copy.
func leftOut(pkg *loader.Package, infos []*ctmarkers.TypeInfo) map[*types.TypeName]bool {
	left := map[*types.TypeName]bool{}
	for _, info := range infos {
		if object, ok := pkg.TypesInfo.Defs[info.RawSpec.Name].(*types.TypeName); ok && !typeAsks(info.Markers, true) {
			left[object] = true
		}
	}
	return left
}

// copiedType is a type whose deep copies are generated.
type copiedType struct {
	named  *types.Named
	spec   *ast.TypeSpec
	object bool    // whether it is to be a runtime.Object
	manual methods // those that are written by hand
}

// name returns how methods refer to the type.
func (t *copiedType) name() string {
	var parameters []string
	for parameter := range t.named.TypeParams().TypeParams() {
		name := parameter.Obj().Name()
		if name == "_" {
			name = fmt.Sprintf("P%d", parameter.Index())
		}
		parameters = append(parameters, name)
	}
	if len(parameters) == 0 {
		return t.named.Obj().Name()
	}
	return t.named.Obj().Name() + "[" + strings.Join(parameters, ", ") + "]"
}

// isReference reports whether methods need no pointer to a value to change what it refers to.
func isReference(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Pointer:
		return true
	}
	return false
}
