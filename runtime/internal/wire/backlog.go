package wire

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// backlogBytes is the minimum amount of received list data that is decoded on several processors. A smaller amount is
	// decoded before another goroutine has started.
	backlogBytes = 32 << 10
	// maxWorkers is the maximum number of goroutines for one backlog.
	maxWorkers = 4
)

// workers returns the number of goroutines with which that many received bytes of a list are decoded.
func (d *Decoder[T]) workers(waiting int) int {
	if waiting < d.backlog {
		return 1
	}
	return min(maxWorkers, runtime.GOMAXPROCS(0), 1+waiting/d.backlog)
}

// longestHead is the length of the part of an item that is searched for the common beginning of all items.
const longestHead = 512

// itemHead returns the beginning of the first item in data, up to its metadata. All items of the list probably begin in
// the same way. It returns nil if it finds no metadata.
func itemHead(data []byte) []byte {
	metadata := []byte(`"metadata":{`)
	n := bytes.Index(data[:min(len(data), longestHead)], metadata)
	if n < 0 || data[0] != '{' {
		return nil
	}
	return data[:n+len(metadata)]
}

// splitItems divides data, which begins with an item, into at most n parts of similar length. It divides at probable
// beginnings of items. The parts do not include the commas between them.
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

// itemsPart has the decoded items of a part.
type itemsPart[T object.Object] struct {
	items  []T
	reused []bool
	used   int // number of bytes of the items, including the commas between them
}

// itemsPart decodes the complete items in data.
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

// decodeBacklog decodes the items that have already arrived, on several processors, and reports whether there were any.
// It guesses where items begin. A part is accepted only if all parts before it consisted of complete items, so data
// after a wrong guess is decoded again. It returns after the last goroutine has ended.
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
