// Package generator says what a generator is: a value that all commands range over. Each generator is a package with one
// variable, and a line in the list of package generators.
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

// Generator makes one kind of files.
type Generator struct {
	// Name is what generate.Options and PROJECT.lock call it.
	Name string
	// GenName is what the command line of kctrl gen calls it. Empty means Name.
	GenName string
	// Options are a struct with the options of kctrl gen as fields, and with the values that they have in a project. It
	// knows the markers and their help. How it generates is not asked: Generate does.
	Options genall.Generator
	// Code says that it makes Go. In a project kctrl generate runs it, and kctrl manifests the others.
	Code bool
	// Follows says that its files follow from the kinds and controllers that kctrl create api adds.
	Follows bool
	// GenOnly says that it is no generator of projects: kctrl gen alone runs it.
	GenOnly bool

	// Emits tells which of all packages it may have to know the types of. Nil means that it reads markers alone.
	Emits func(all []*load.Package) func(*load.Package) bool
	// PackageMarkers are the names of the markers that it reads, if it reads no others and these are about packages.
	PackageMarkers []string
	// OrderCounts reports whether the output depends on the order of packages. If it does, kctrl gen uses the order of
	// controller-gen's loader. Nil means that it does not.
	OrderCounts func(packages []*load.Package, rule genall.OutputRule) bool
	// DependsOn returns what the output of kctrl gen depends on besides arguments and the content of files. Nil means nothing.
	DependsOn func(dir string, options genall.Generator) ([]string, error)
	// Generate makes the files. What is wrong with the source may stay with the packages, for load.Program.Problems.
	Generate func(in Input, options genall.Generator) error

	// SetHeader sets, in a pointer to options, what files begin with.
	SetHeader func(options any, file, year string)
	// Flags returns the flags of kctrl generate or kctrl manifests for a pointer to options. Nil means there are none.
	Flags func(options any) []Flag
	// Folder is the flag for the folder of a project that files are written to, which its Default is. The zero value means
	// that files are written beside the types.
	Folder Flag
	// Kustomization is the folder whose kustomization lists the files in the usual folder. Empty means that none does.
	Kustomization string
	// Empty returns the files of the folder, by their names in it, that stand where it has made nothing in all of a project,
	// from those that are there. Nil means that what it made earlier is deleted.
	Empty func(options genall.Generator, read func(name string) ([]byte, error)) ([]artifact.File, error)
	// Check returns what is wrong with options of a project. Nil means nothing can be.
	Check func(options genall.Generator) error
}

// Flag is a flag of a command for an option.
type Flag struct {
	Name, Usage string
	// To is the option: a *string, which Default is the value of, a *[]string, or a **int or **bool, which stay nil unless
	// they are set; a negative number stands for nil.
	To      any
	Default string
	// Pairs says that each item of a *[]string is name=value.
	Pairs bool
}

// Input is what a generator works with. Files go to the output rule, or to Write.
type Input struct {
	genall.GenerationContext
	// Dir is the folder that the command works in, absolute. Errors name files relative to it.
	Dir string
	// Strict says that a project asks, whose files are to be right. Otherwise controller-gen's would be as wrong.
	Strict bool
	// Check receives each CRD before it is written. Nil means that CRDs are not checked.
	Check func(*apiextensionsv1.CustomResourceDefinition, Explain)
	// Year is what YEAR in a header becomes where options do not say.
	Year string
	// Markers are all that are known, whatever generators run.
	Markers *markers.Registry
	// Generated returns the files of a package that are left out because they were generated.
	Generated func(*loader.Package) []*ast.File
	// LeftOut returns them too, and those of the project, which may go away with this run.
	LeftOut func(*loader.Package) []*ast.File
	// Warn is told what is wrong and keeps nobody from generating.
	Warn func(*diagnostic.Error)
	// Defines is called for each kind that a file defines.
	Defines func(schema.GroupVersionKind)
	// Write writes a file by its absolute path, whatever the output rule says.
	Write func(artifact.File) error
}

// Explain returns a problem of a CRD as an error at the field, type or marker that it comes from.
type Explain func(definition.Problem) *diagnostic.Error

// Settings are what a project sets of a generator.
type Settings struct {
	// Folder is where files are written, relative to the project. Empty means the usual one.
	Folder string
	// Options is a pointer to the options.
	Options any
}

// Settings returns those of a project that sets nothing, for the caller to change.
func (g Generator) Settings() *Settings {
	options := reflect.New(reflect.TypeOf(g.Options))
	options.Elem().Set(reflect.ValueOf(g.Options))
	return &Settings{Folder: g.Folder.Default, Options: options.Interface()}
}

// Value returns the options.
func (s Settings) Value() genall.Generator {
	return reflect.ValueOf(s.Options).Elem().Interface().(genall.Generator)
}

// WithHeader returns the options with what files begin with.
func (g Generator) WithHeader(options genall.Generator, header artifact.Header) genall.Generator {
	s := Generator{Options: options}.Settings()
	if g.SetHeader != nil {
		g.SetHeader(s.Options, header.Path(), header.Year)
	}
	return s.Value()
}

// IsTrue returns the value of an option that may be left out, which then is false.
func IsTrue(option *bool) bool { return option != nil && *option }
