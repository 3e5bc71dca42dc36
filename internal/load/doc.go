// Package load reads the Go packages of a project, once for all generators.
//
// [Load] finds the packages that patterns match, parses them and reads their markers. Code that only needs markers uses
// [Program.Packages] and costs no call of the go command. Code that needs types asks [Program.Types] for the packages that
// can produce output; only these, and what they refer to, are ever type-checked. It is the one place that calls the go
// command, and that knows the insides of controller-tools' loader.
//
//	program, err := load.Load(ctx, load.Config{Dir: dir, Overlay: overlay, Patterns: []string{"./..."}})
//	...
//	types, err := program.Types(ctx, func(pkg *load.Package) bool { return pkg.Has("groupName") })
//	...
//	err = program.Problems(types.Roots)
//
// What is wrong comes back as *diagnostic.Error with file, line and column, everything at once. What is wrong with markers
// is not asked here: package lint does, with the program.
package load
