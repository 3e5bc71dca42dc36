//go:build race

package simulator

// cacheBug is empty, because the race detector itself reports the bug.
var cacheBug = map[string]string{}
