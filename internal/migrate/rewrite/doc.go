// Package rewrite applies rules that change Go code from controller-runtime's API to kctrl's.
//
// A rule receives the syntax tree nodes of one Go type, with type information, and replaces source text at their
// positions. All other text stays unchanged, including comments and line breaks.
//
// Rules belong to groups. [Packages] applies all groups to each package and type-checks the module with the result. As
// long as a package does not compile, it drops the last group that it applied to the package. The result therefore
// always compiles.
package rewrite
