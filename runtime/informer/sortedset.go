package informer

import (
	"cmp"
	"iter"
	"slices"
)

// maxChunk is the most values in one chunk of a sorted set. Inserting moves at most that many.
const maxChunk = 512

// sortedSet is a set whose values can be walked in order. It keeps them in chunks, so that a change of a set of n values
// moves about maxChunk + n/maxChunk words. It is not safe for concurrent use.
type sortedSet[K cmp.Ordered] struct {
	chunks [][]K // ascending within and between chunks; none is empty or longer than maxChunk
}

// fill makes values the content of s, which is empty.
func (s *sortedSet[K]) fill(values iter.Seq[K]) {
	for chunk := range slices.Chunk(slices.Sorted(values), maxChunk/2) {
		s.chunks = append(s.chunks, slices.Clone(chunk))
	}
}

// insert adds value, which is not in s.
func (s *sortedSet[K]) insert(value K) {
	if len(s.chunks) == 0 {
		s.chunks = [][]K{{value}}
		return
	}
	c := min(s.chunkOf(value), len(s.chunks)-1)
	at, _ := slices.BinarySearch(s.chunks[c], value)
	s.chunks[c] = slices.Insert(s.chunks[c], at, value)
	if chunk := s.chunks[c]; len(chunk) > maxChunk {
		half := len(chunk) / 2
		s.chunks = slices.Insert(s.chunks, c+1, slices.Clone(chunk[half:]))
		s.chunks[c] = slices.Delete(chunk, half, len(chunk))
	}
}

// remove takes value out, if it is in s.
func (s *sortedSet[K]) remove(value K) {
	c := s.chunkOf(value)
	if c == len(s.chunks) {
		return
	}
	at, found := slices.BinarySearch(s.chunks[c], value)
	if !found {
		return
	}
	s.chunks[c] = slices.Delete(s.chunks[c], at, at+1)
	if len(s.chunks[c]) == 0 {
		s.chunks = slices.Delete(s.chunks, c, c+1)
	}
}

// between walks the values from from, up to and without to.
func (s *sortedSet[K]) between(from, to K) iter.Seq[K] {
	return func(yield func(K) bool) {
		for c := s.chunkOf(from); c < len(s.chunks); c++ {
			at, _ := slices.BinarySearch(s.chunks[c], from)
			for _, value := range s.chunks[c][at:] {
				if value >= to || !yield(value) {
					return
				}
			}
		}
	}
}

// chunkOf returns the first chunk whose last value is not less than value: where value is if it is in s at all.
func (s *sortedSet[K]) chunkOf(value K) int {
	c, _ := slices.BinarySearchFunc(s.chunks, value, func(chunk []K, value K) int {
		return cmp.Compare(chunk[len(chunk)-1], value)
	})
	return c
}
