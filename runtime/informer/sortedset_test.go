package informer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortedSetIsASetInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, model := sortedSet[int]{}, map[int]bool{}
	for i := range 3000 {
		model[i*3] = true
	}
	s.fill(maps.Keys(model))
	for step := range 20000 {
		value := random.IntN(12000)
		if model[value] || random.IntN(step/2000+2) == 0 {
			s.remove(value)
			delete(model, value)
		} else {
			s.insert(value)
			model[value] = true
		}
	}
	want := slices.Sorted(maps.Keys(model))
	if got := slices.Collect(s.between(-1, 20000)); !slices.Equal(got, want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	for _, chunk := range s.chunks {
		if len(chunk) == 0 || len(chunk) > maxChunk {
			t.Errorf("a chunk of %d", len(chunk))
		}
	}
	for value := range model {
		s.remove(value)
	}
	s.remove(1)
	if len(s.chunks) != 0 {
		t.Errorf("%d chunks of nothing", len(s.chunks))
	}
}
