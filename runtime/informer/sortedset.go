package informer

import (
	"cmp"
	"iter"
	"slices"
)

// maxChunk is the maximum number of values in a chunk of a sorted set, and so the most that an insertion moves.
const maxChunk = 512

// sortedSet is an ordered set. It keeps its values in chunks, so that a change of a set of n values moves about
// maxChunk + n/maxChunk words. It is not safe for concurrent use.
type sortedSet[K cmp.Ordered] struct {
	chunks [][]K // ascending within and between chunks; none is empty or longer than maxChunk
}

// fill sets the content of s, which must be empty.
func (s *sortedSet[K]) fill(values iter.Seq[K]) {
	for chunk := range slices.Chunk(slices.Sorted(values), maxChunk/2) {
		s.chunks = append(s.chunks, slices.Clone(chunk))
	}
}

// insert adds value, which must not be in s.
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

// remove removes value, if it is in s.
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

// between iterates over the values in the range from <= value < to.
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

// chunkOf returns the index of the first chunk whose last value is not less than value. If value is in s, it is in that
// chunk.
func (s *sortedSet[K]) chunkOf(value K) int {
	c, _ := slices.BinarySearchFunc(s.chunks, value, func(chunk []K, value K) int {
		return cmp.Compare(chunk[len(chunk)-1], value)
	})
	return c
}
