package randomapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// group generates the packages of one API group.
type group struct {
	*rand.Rand
	name   string
	module string
	files  map[string]string
	count  int // number of declared types, in all packages
	fields int // number of their fields; names of fields are unique, so that structs can be embedded in each other

	twice    bool              // also generate the files without generic types
	plain    map[string]string // files with generic types written out
	all      []*generic        // generic types of all packages
	optional bool              // fields of all packages are optional by default
}

// New returns the Go files of an API group: packages below the directory name in a module, in one or two versions, with
// shared types. The second result is the number of types.
func New(seed uint64, module, name string) (map[string]string, int) {
	g := &group{Rand: rand.New(rand.NewPCG(seed, 1)), name: name, module: module, files: map[string]string{},
		plain: map[string]string{}}
	g.make()
	return g.files, g.count
}

// NewGeneric returns the Go files of an API group with generic types, the files of the same group with a plain type in
// place of each instantiation, and the number of types in the first group.
func NewGeneric(seed uint64, module, name string) (generic, plain map[string]string, count int) {
	g := &group{Rand: rand.New(rand.NewPCG(seed, 2)), name: name, module: module, files: map[string]string{},
		plain: map[string]string{}, twice: true}
	g.optional = g.one(4)
	g.make()
	return g.files, g.plain, g.count
}

// make generates the packages.
func (g *group) make() {
	shared := &file{group: g, dir: g.name + "/shared", pkg: "shared", known: others()}
	for range 2 + g.IntN(4) {
		shared.declare()
	}
	shared.write("// Package shared has types of several versions.", g.pick("// +kubebuilder:object:generate=true",
		"// +k8s:deepcopy-gen=package"))

	v1 := g.version("v1", shared)
	if g.IntN(3) == 0 {
		g.second(v1)
	}
}

// version generates a package with a kind.
func (g *group) version(name string, shared *file) *file {
	f := &file{group: g, dir: g.name + "/" + name, pkg: name, known: append(others(), shared.export()...),
		generics: shared.generics}
	f.markPackage()
	for range 4 + g.IntN(8) {
		f.declare()
	}
	for range 1 + g.IntN(2) {
		f.kind()
	}
	f.write("// Package "+name+" "+g.sentence(), f.markers...)
	return f
}

// second generates another version, with some types of its own and references to types of the first version.
func (g *group) second(v1 *file) {
	f := &file{group: g, dir: g.name + "/v1beta1", pkg: "v1beta1", known: append(others(), v1.export()...),
		generics: v1.generics}
	f.markers = []string{"// +kubebuilder:object:generate=true", "// +groupName=" + g.name + ".example.com"}
	for range 1 + g.IntN(3) {
		f.declare()
	}
	for _, kind := range v1.kinds {
		f.otherVersion(kind)
	}
	f.write("// Package v1beta1 "+g.sentence(), f.markers...)
}

// one returns true in one of n cases.
func (g *group) one(n int) bool { return g.IntN(n) == 0 }

func (g *group) pick(of ...string) string { return of[g.IntN(len(of))] }

// some returns up to n of the given strings, each at most once, in order.
func (g *group) some(n int, of ...string) []string {
	chosen := g.Perm(len(of))[:min(g.IntN(n+1), len(of))]
	slices.Sort(chosen)
	var found []string
	for _, i := range chosen {
		found = append(found, of[i])
	}
	return found
}

// importPath returns the import path of a package of the module.
func (g *group) importPath(dir string) string { return g.module + "/" + dir }

// sentence returns text for comments, including words that YAML must quote or fold.
func (g *group) sentence() string {
	words := []string{
		"is", "the", "desired", "state:", "never", "\"quoted\"", "it's", "# not a comment", "yes", "null", "{a: b}", "naïve",
		"größer",
		"- dash", "0x1F", "1e3", "http://example.com/?a=b&c=d", "%d",
		"a very long sentence that has to be folded somewhere by the emitter",
		"`code`", "*", "&anchor", "!tag", "trailing:", "e.g.", "i.e.", "世界", "\ttab", "\\n", "@", "~", "|", ">", "''", "true",
		"2026-01-01",
	}
	var text []string
	for range 1 + g.IntN(12) {
		text = append(text, g.pick(words...))
	}
	return strings.Join(text, " ") + g.pick(".", ".", "", ":", " ...")
}

// comment returns a doc comment for a name: several lines, paragraphs, lists, and parts that generators omit.
func (g *group) comment(indent, name string) string {
	if g.one(5) {
		return ""
	}
	lines := []string{name + " " + g.sentence()}
	for range g.IntN(3) {
		lines = append(lines, g.pick("", "", "- "+g.sentence(), "  indented "+g.sentence(), "TODO: "+g.sentence(),
			g.sentence(), g.sentence(),
			"```\ncode: \"{}\"\nTODO in a fence\n```", "Deprecated: "+g.sentence(), "1. "+g.sentence(), "# Heading"))
	}
	if g.one(8) {
		lines = append(lines, "---", "not for users: "+g.sentence())
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.Join(lines, "\n"), "\n") {
		fmt.Fprintf(&b, "%s// %s\n", indent, line)
	}
	return b.String()
}
