//go:build !race

package simulator

// cacheBug is the variant of an operator that modifies cached objects, which is a data race.
var cacheBug = map[string]string{"modifies the cache": "cache"}
