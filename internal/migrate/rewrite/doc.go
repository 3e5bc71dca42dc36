// Package rewrite changes Go code from controller-runtime's API to kctrl's by rules.
//
// A rule gets the nodes of one type of the syntax tree, with their types, and replaces source text at their positions.
// All other text stays, with its comments and line breaks.
//
// Rules belong to groups. [Packages] applies all groups to each package and type-checks the module with the result. It
// drops the last group of a package for as long as something does not compile, so that the result always compiles.
package rewrite
