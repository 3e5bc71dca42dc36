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
// is strict where controller-gen is silent. A [Finding] is a marker that no generator knows, that stands where it
// describes nothing, that has a value which can never be right, or that contradicts another. Findings that reach what is
// generated make [Load] fail; the others are told to [Config.Warn]. A lenient load fails only where controller-gen does,
// and [Program.Findings] has the rest. Markers of other tools are left alone.
//
// [Registry.Explain] documents all markers in kctrl's own words.
package markers
