// Package generator defines the type of a generator. All commands iterate over the generators. Each generator is a
// package with one variable, and a line in the list in package generators.
package generator

import (
	"go/ast"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// Generator generates one kind of files.
type Generator struct {
	// Name is the name in generate.Options and PROJECT.lock.
	Name string
	// GenName is the name on the command line of kctrl gen. Empty means Name.
	GenName string
	// Options is a struct with the options of kctrl gen as fields, and with the values of a project. It defines the
	// markers and their help. Its method Generate is not called: the field Generate replaces it.
	Options genall.Generator
	// Code reports whether it generates Go code. In a project, kctrl generate runs the generators of code, and kctrl
	// manifests the other generators.
	Code bool
	// Follows reports whether its files depend on the kinds and controllers that kctrl create api adds.
	Follows bool
	// GenOnly reports whether only kctrl gen runs it, and the commands of projects do not.
	GenOnly bool

	// Emits returns a filter for the packages whose types it may need. Nil means that it reads only markers.
	Emits func(all []*load.Package) func(*load.Package) bool
	// PackageMarkers are the names of its markers, if it reads only package markers.
	PackageMarkers []string
	// OrderCounts reports whether the output depends on the order of packages. If it does, kctrl gen uses the order of
	// controller-gen's loader. Nil means that it does not.
	OrderCounts func(packages []*load.Package, rule genall.OutputRule) bool
	// DependsOn returns what affects the output of kctrl gen besides arguments and files. Nil means nothing.
	DependsOn func(dir string, options genall.Generator) ([]string, error)
	// Generate generates the files. It may leave errors in the packages, for load.Program.Problems.
	Generate func(in Input, options genall.Generator) error

	// Flags returns the flags of kctrl generate or kctrl manifests for a pointer to options. Nil means none.
	Flags func(options any) []Flag
	// Dir is the flag for the output directory in a project. Its Default is the usual directory. The zero value means
	// that files are written beside the types.
	Dir Flag
	// Kustomization is the directory whose kustomization lists the files in the usual directory. Empty means none.
	Kustomization string
	// Empty returns the files of the directory, by name, if a project has no output, given the existing files. Nil means
	// that earlier output is deleted.
	Empty func(options genall.Generator, read func(name string) ([]byte, error)) ([]artifact.File, error)
	// Check returns an error for invalid options of a project. Nil means that all options are valid.
	Check func(options genall.Generator) error
}

// Flag is a flag of a command for an option.
type Flag struct {
	Name, Usage string
	// To is a pointer to the option: a *string with the value Default, a *[]string, or a **int or **bool, which stay nil
	// unless they are set. A negative number means nil.
	To      any
	Default string
	// Pairs reports whether each item of a *[]string is name=value.
	Pairs bool
}

// Input is the input of a generator. Files go to the output rule, or to Write.
type Input struct {
	genall.GenerationContext
	// Dir is the working directory, absolute. File names in errors are relative to it.
	Dir string
	// Strict reports whether the output of a project must be valid. Otherwise it equals controller-gen's, errors included.
	Strict bool
	// Check receives each CRD before it is written. Nil means that CRDs are not checked.
	Check func(*apiextensionsv1.CustomResourceDefinition, Explain)
	// Year replaces YEAR in a header if the options do not set a year.
	Year string
	// Markers are all known markers, whichever generators run.
	Markers *markers.Registry
	// Generated returns the generated files of a package, which are not loaded.
	Generated func(*loader.Package) []*ast.File
	// LeftOut also returns the generated files of the project, which this run may delete.
	LeftOut func(*loader.Package) []*ast.File
	// Warn receives non-fatal findings.
	Warn func(*diagnostic.Error)
	// Defines is called for each kind in a generated file.
	Defines func(schema.GroupVersionKind)
	// Write writes a file by its absolute path, independent of the output rule.
	Write func(artifact.File) error
}

// Explain returns a problem of a CRD as an error at the field, type or marker that causes it.
type Explain func(definition.Problem) *diagnostic.Error

// Settings are the settings of a project for a generator.
type Settings struct {
	// Dir is the output directory, relative to the project. Empty means the usual directory.
	Dir string
	// Options is a pointer to the options.
	Options any
}

// Settings returns the default settings of a project, for the caller to change.
func (g Generator) Settings() *Settings {
	options := reflect.New(reflect.TypeOf(g.Options))
	options.Elem().Set(reflect.ValueOf(g.Options))
	return &Settings{Dir: g.Dir.Default, Options: options.Interface()}
}

// Value returns the options.
func (s Settings) Value() genall.Generator {
	return reflect.ValueOf(s.Options).Elem().Interface().(genall.Generator)
}

// WithHeader returns the options with a header of files, in the fields in which controller-tools has it.
func WithHeader(options genall.Generator, header artifact.Header) genall.Generator {
	s := Generator{Options: options}.Settings()
	for name, value := range map[string]string{"HeaderFile": header.Path(), "Year": header.Year} {
		if field := reflect.ValueOf(s.Options).Elem().FieldByName(name); field.IsValid() {
			field.SetString(value)
		}
	}
	return s.Value()
}

// IsTrue returns the value of an option that is false by default.
func IsTrue(option *bool) bool { return option != nil && *option }
