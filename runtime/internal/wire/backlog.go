package wire

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// backlogBytes is how much of a list must have arrived for several processors to decode it: less is decoded before another
	// goroutine has started.
	backlogBytes = 32 << 10
	// maxWorkers is the most goroutines that decode one backlog.
	maxWorkers = 4
)

// workers returns how many goroutines are worth decoding that many bytes of a list that have arrived.
func (d *Decoder[T]) workers(waiting int) int {
	if waiting < d.backlog {
		return 1
	}
	return min(maxWorkers, runtime.GOMAXPROCS(0), 1+waiting/d.backlog)
}

// longestHead is how far into an item what all items begin with is looked for.
const longestHead = 512

// itemHead returns what the first item of data, and so probably every item of the list, begins with: all up to its
// metadata. It is nil if that cannot be told.
func itemHead(data []byte) []byte {
	metadata := []byte(`"metadata":{`)
	n := bytes.Index(data[:min(len(data), longestHead)], metadata)
	if n < 0 || data[0] != '{' {
		return nil
	}
	return data[:n+len(metadata)]
}

// splitItems divides data, which begins with an item, into at most n parts of about the same length where an item seems
// to begin. The commas in between are in no part.
func splitItems(data []byte, n int) [][]byte {
	head := itemHead(data)
	if head == nil {
		return [][]byte{data}
	}
	next := append([]byte{','}, head...)
	var parts [][]byte
	for ; n > 1; n-- {
		target := len(data) / n
		end := bytes.Index(data[target:], next)
		if end < 0 {
			break
		}
		parts = append(parts, data[:target+end])
		data = data[target+end+1:]
	}
	return append(parts, data)
}

// itemsPart is what was decoded of some items.
type itemsPart[T object.Object] struct {
	items  []T
	reused []bool
	used   int // how many bytes the items are, with the commas between them
}

// itemsPart decodes the items that data is, up to what is no complete one.
func (d *Decoder[T]) itemsPart(c *cursor, data []byte, known Known[T]) (part itemsPart[T]) {
	for start := 0; start < len(data); start = part.used + 1 {
		c.reset(data[start:], 2, false)
		if data[start] != '{' {
			return part
		}
		obj, reused := d.reuse(c, known)
		if !reused {
			var err error
			if obj, err = d.object(c); err != nil {
				return part
			}
		}
		part.items, part.reused = append(part.items, obj), append(part.reused, reused)
		part.used = start + c.at
		if part.used < len(data) && data[part.used] != ',' {
			return part
		}
	}
	return part
}

// decodeBacklog decodes the items that have arrived already, on several processors, and reports whether there were any.
// Where an item begins is guessed, and what follows a wrong guess is decoded again: a part is only taken if all before it
// turned out to be whole items. It returns after the last goroutine has ended.
func (r *listReader[T]) decodeBacklog(workers int) bool {
	parts := splitItems(r.source.unused(), workers)
	if len(parts) == 1 {
		return false
	}
	decoded := make([]itemsPart[T], len(parts))
	var working sync.WaitGroup
	for i, part := range parts[1:] {
		working.Go(func() {
			c := r.decoder.cursor()
			defer r.decoder.release(c)
			decoded[i+1] = r.decoder.itemsPart(c, part, r.known)
		})
	}
	decoded[0] = r.decoder.itemsPart(r.cursor, parts[0], r.known)
	working.Wait()
	for i, part := range decoded {
		if len(part.items) == 0 {
			return i > 0
		}
		for n, obj := range part.items {
			r.add(obj, part.reused[n])
		}
		if i > 0 {
			r.source.start++ // the comma
		}
		if r.source.start += part.used; part.used < len(parts[i]) {
			r.alone = i < len(parts)-1
			return true
		}
	}
	return true
}
