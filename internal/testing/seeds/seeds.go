// Package seeds chooses the seeds of property tests.
//
// Fixed seeds make runs comparable. Fresh seeds try inputs that the code has not been adapted to. Each seed is a
// subtest, so a failure prints the seed that repeats it:
//
//	KCTRL_TEST_SEED=3735928559 go test ./runtime/workqueue -run TestRandomChanges
package seeds

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

const (
	// FreshVariable names the environment variable with the number of fresh seeds of each property, 1 if it is unset.
	// make test-all sets a larger number.
	FreshVariable = "KCTRL_TEST_SEEDS"
	// OnlyVariable names the environment variable with the one seed to run.
	OnlyVariable = "KCTRL_TEST_SEED"
)

// Each runs property with the seeds from 1 to fixed and with fresh seeds, each in a subtest named after the seed. The
// subtests run sequentially unless property calls t.Parallel.
func Each(t *testing.T, fixed int, property func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range list(t, fixed) {
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) { property(t, seed) })
	}
}

func list(t *testing.T, fixed int) []uint64 {
	t.Helper()
	if text := os.Getenv(OnlyVariable); text != "" {
		return []uint64{number(t, OnlyVariable, text)}
	}
	fresh := uint64(1)
	if text := os.Getenv(FreshVariable); text != "" {
		fresh = number(t, FreshVariable, text)
	}
	var all []uint64
	for seed := range uint64(fixed) {
		all = append(all, seed+1)
	}
	for range fresh {
		all = append(all, uint64(rand.Uint32())+uint64(fixed)+1)
	}
	return all
}

func number(t *testing.T, variable, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
