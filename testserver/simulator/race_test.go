//go:build race

package simulator

// cacheBug has no variant: the race detector reports the bug itself.
var cacheBug = map[string]string{}
