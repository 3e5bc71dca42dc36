// Package lint reports invalid markers in a program. Each file implements one rule.
//
// The package also reports problems that controller-gen ignores. A [Finding] reports a marker that is unknown, is
// misplaced, has an invalid value, or contradicts another marker. [Check] returns findings that affect generated files
// as errors, and passes all other findings to [Config.Warn]. A lenient check fails only if controller-gen also fails.
// The package ignores markers of other tools.
package lint
