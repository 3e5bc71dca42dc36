// Package markers defines the markers in the comments of Go packages, such as "+kubebuilder:validation:MinLength=1". A
// [Registry] contains their definitions and targets. [Registry.Explain] returns their documentation.
// [Registry.Correction] suggests a spelling for an unknown marker. [Registry.Read] returns the markers of a file with
// the declarations that they describe.
//
// controller-tools' packages define the meanings and targets of markers. The package ignores markers of other tools. It
// reads no files and does not depend on projects.
package markers

import (
	"maps"
	"slices"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// families are the prefixes of the markers that kctrl defines. Markers of other tools are ignored.
var families = []string{"kubebuilder:", "kctrl:"}

// scaffoldMarker is the prefix of markers at which kubebuilder inserts code. kctrl accepts and ignores them.
const scaffoldMarker = "kubebuilder:scaffold:"

// Registry has the markers of all generators. Lookups are safe for concurrent use.
type Registry struct {
	*markers.Registry
	names []string // of all definitions, sorted
}

// NewRegistry returns a registry with the markers of all controller-gen generators, including generators that do not
// run.
func NewRegistry() (*Registry, error) {
	registry := &markers.Registry{}
	for _, register := range []func(*markers.Registry) error{
		crdmarkers.Register,
		deepcopy.Generator{}.RegisterMarkers,
		rbac.Generator{}.RegisterMarkers,
		webhook.Generator{}.RegisterMarkers,
		registerOurs,
	} {
		if err := register(registry); err != nil {
			return nil, err
		}
	}
	names := map[string]bool{}
	for _, definition := range registry.AllDefinitions() {
		names[definition.Name] = true
	}
	return &Registry{Registry: registry, names: slices.Sorted(maps.Keys(names))}, nil
}

// registerOurs adds the markers that controller-tools does not register: those of the apply configuration generator and
// of kctrl verify.
func registerOurs(registry *markers.Registry) error {
	for _, m := range []struct {
		name   string
		target markers.TargetType
		value  any
	}{
		{"kubebuilder:ac:generate", markers.DescribesPackage, false},
		{"kubebuilder:ac:generate", markers.DescribesType, false},
		{"kubebuilder:ac:output:package", markers.DescribesPackage, ""},
		{ValidExample, markers.DescribesType, ""},
		{InvalidExample, markers.DescribesType, Refused{}},
	} {
		if err := registry.Define(m.name, m.target, m.value); err != nil {
			return err
		}
	}
	return nil
}

// The markers of example objects of a kind.
const (
	ValidExample   = "kctrl:example:valid"
	InvalidExample = "kctrl:example:invalid"
)

// Refused is the value of an InvalidExample: an object as JSON or YAML, and words of the expected error message.
type Refused struct {
	Object  string `marker:"object"`
	Message string `marker:"message,optional"`
}

// IsInsertionPoint reports whether text, a marker starting with "+", marks a place where kubebuilder inserts code.
func IsInsertionPoint(text string) bool {
	return strings.HasPrefix(text[1:], scaffoldMarker)
}

var allTargets = []markers.TargetType{markers.DescribesPackage, markers.DescribesType, markers.DescribesField}

// Targets returns the targets of the marker with a name.
func (r *Registry) Targets(name string) []markers.TargetType {
	var found []markers.TargetType
	for _, target := range allTargets {
		if definition := r.lookup("+"+name, target); definition != nil && definition.Name == name {
			found = append(found, target)
		}
	}
	return found
}

// lookup returns the definition of a marker for a target, or nil.
func (r *Registry) lookup(text string, target markers.TargetType) *markers.Definition {
	definition := r.Lookup(text, target)
	if definition != nil && definition.Name == crdmarkers.K8sEnumTag && target == markers.DescribesField {
		return nil // controller-tools defines the marker on fields only to reject it
	}
	return definition
}

// Definition returns the definition of a marker, starting with "+", for any target, or nil.
func (r *Registry) Definition(text string) *markers.Definition {
	for _, target := range allTargets {
		if definition := r.Lookup(text, target); definition != nil {
			return definition
		}
	}
	return nil
}

// Ours reports whether a marker, starting with "+", belongs to a family that kctrl defines.
func Ours(text string) bool {
	return slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(text[1:], family) })
}
