// Package lint finds what is wrong with the markers of a program: a rule to a file.
//
// It is strict where controller-gen is silent. A [Finding] is a marker that no generator knows, that stands where it
// describes nothing, that has a value which can never be right, or that contradicts another. Findings that reach what is
// generated are errors of [Check]; the others go to [Config.Warn]. A lenient check fails only where controller-gen
// does. Markers of other tools are left alone.
package lint
