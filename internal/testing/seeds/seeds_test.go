package seeds

import (
	"slices"
	"testing"
)

func TestFixedSeedsComeBeforeFreshOnes(t *testing.T) {
	t.Setenv(OnlyVariable, "")
	t.Setenv(FreshVariable, "2")
	var got []uint64
	Each(t, 3, func(_ *testing.T, seed uint64) { got = append(got, seed) })
	if len(got) != 5 || !slices.Equal(got[:3], []uint64{1, 2, 3}) || got[3] <= 3 || got[4] <= 3 {
		t.Errorf("got seeds %v, want 1, 2, 3 and two fresh ones above 3", got)
	}
}

func TestOneSeedCanBeRepeatedAlone(t *testing.T) {
	t.Setenv(OnlyVariable, "4294967296")
	var got []uint64
	Each(t, 3, func(_ *testing.T, seed uint64) { got = append(got, seed) })
	if !slices.Equal(got, []uint64{4294967296}) {
		t.Errorf("got seeds %v, want the one of %s", got, OnlyVariable)
	}
}
