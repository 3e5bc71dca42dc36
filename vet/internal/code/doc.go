// Package code answers the questions of the rules of package vet about one Go package: which calls use a Kubernetes
// client, which objects belong to a cache, which functions a reconciler calls, and what a function does in the end.
//
// [Analyzer] builds the SSA form of a package once, for all rules. It exports a [Summary] of each function as a fact,
// so that a rule knows callees in other packages of the module. An answer is a proof by types and dataflow. Code behind
// an interface, a function value or another module is unknown, and a rule does not report what is unknown.
package code
