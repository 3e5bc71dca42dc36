// Package code analyzes one Go package for the rules of package vet. It finds the calls of Kubernetes clients, the
// objects that belong to a cache, the functions that a reconciler calls, and the effects of each function.
//
// [Analyzer] builds the SSA form of a package once for all rules. It exports a [Summary] of each function as a fact, so
// that the rules know the effects of functions in other packages of the module. Results are proven from types and
// dataflow. Code behind an interface, a function value or another module is unknown, and the rules do not report
// unknown code.
package code
