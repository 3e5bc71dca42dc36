// Package load reads the Go packages of a project once for all generators.
//
// [Load] finds the packages that match patterns, parses them and reads their markers. Code that needs only markers uses
// [Program.Packages], which does not run the go command. Code that needs types calls [Program.Types] with a filter for
// the packages that can produce output. Only these packages, and the types that they refer to, are type-checked. In
// kctrl, only this package runs the go command to load code, or depends on unexported parts of controller-tools'
// loader.
//
//	program, err := load.Load(ctx, load.Config{Dir: dir, Overlay: overlay, Patterns: []string{"./..."}})
//	...
//	types, err := program.Types(ctx, func(pkg *load.Package) bool { return pkg.Has("groupName") })
//	...
//	err = program.Problems(types.Roots)
//
// Returned errors join *diagnostic.Error values, which have a file, line and column. Package lint checks the markers of
// a program.
package load
