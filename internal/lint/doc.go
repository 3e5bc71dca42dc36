// Package lint reports invalid markers of a program. Each file has one rule.
//
// It is strict where controller-gen is silent. A [Finding] reports a marker that is unknown, is misplaced, has an
// invalid value, or contradicts another marker. Findings that affect generated files are errors of [Check];
// [Config.Warn] receives the others. A lenient check fails only where controller-gen does. Markers of other tools are
// ignored.
package lint
