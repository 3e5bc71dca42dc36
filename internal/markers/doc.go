// Package markers reads the Go packages of a project and the markers in their comments, such as
// "+kubebuilder:validation:MinLength=1", once for all generators.
//
// [Load] reads: it finds the packages that patterns match, parses them and checks every marker. What is wrong comes back
// as *diagnostic.Error with file, line and column, everything at once. Code that only needs markers uses
// [Program.Packages] and costs no call of the go command. Code that needs types asks [Program.Types] for the packages
// that can produce output; only these, and what they refer to, are ever type-checked.
//
//	program, err := markers.Load(ctx, markers.Config{Dir: dir, Overlay: overlay, Patterns: []string{"./..."}})
//	...
//	types, err := program.Types(ctx, func(pkg *markers.Package) bool { return pkg.Has("groupName") })
//	...
//	err = program.Problems(types.Roots)
//
// The overlay makes files that are only planned, or planned to go away, look as if they were on disk.
//
// The meaning of a marker and where it may stand is that of controller-tools; its packages do the work. This package
// is strict where controller-gen is silent: a marker that begins with "+kubebuilder:" or "+kctrl:" and that no
// generator knows is an error.
package markers
