package wire

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// backlogBytes is how much must have arrived for several processors to decode it: less is decoded before another
	// goroutine has started.
	backlogBytes = 32 << 10
	// maxWorkers is the most goroutines that decode one backlog.
	maxWorkers = 4
)

// decodeParts decodes each part on a goroutine of its own, and the first, with the caller's cursor, on this one. It returns
// after the last has ended.
func decodeParts[T object.Object, P any](d *Decoder[T], first *cursor, parts [][]byte, decode func(*cursor, []byte) P) []P {
	decoded := make([]P, len(parts))
	var working sync.WaitGroup
	for i, part := range parts[1:] {
		working.Go(func() {
			c := d.cursor()
			defer d.release(c)
			decoded[i+1] = decode(c, part)
		})
	}
	decoded[0] = decode(first, parts[0])
	working.Wait()
	return decoded
}

// decodeBacklog decodes the events that have arrived already into ready, in order, on several processors. It leaves all
// that is not an event in one line to the caller, with what follows it. It returns after the last goroutine has ended.
func (s *Stream[T]) decodeBacklog(workers int) {
	parts := split(s.frames.unused(), workers)
	decoded := decodeParts(s.decoder, s.cursor, parts, func(c *cursor, lines []byte) backlogPart[T] {
		return s.decoder.backlogPart(c, lines, s.known)
	})
	for i, part := range decoded {
		s.ready = append(s.ready, part.events...)
		s.frames.used(part.used)
		if part.used < len(parts[i]) {
			s.alone = true // what the others decoded was for nothing, which must not go on
			return
		}
	}
}

// workers returns how many goroutines are worth decoding that many bytes that have arrived.
func (d *Decoder[T]) workers(waiting int) int {
	if waiting < d.backlog {
		return 1
	}
	return min(maxWorkers, runtime.GOMAXPROCS(0), 1+waiting/d.backlog)
}

// split divides the complete lines of data into at most n parts of about the same length.
func split(data []byte, n int) [][]byte {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	var parts [][]byte
	for ; n > 1; n-- {
		target := len(data) / n
		end := bytes.IndexByte(data[target:], '\n')
		if end < 0 {
			break
		}
		parts = append(parts, data[:target+end+1])
		data = data[target+end+1:]
	}
	return append(parts, data)
}

// backlogPart is what was decoded of some lines.
type backlogPart[T object.Object] struct {
	events []Event[T]
	used   int // how many bytes they are
}

// backlogPart decodes lines up to the first that is not exactly one event.
func (d *Decoder[T]) backlogPart(c *cursor, lines []byte, known Known[T]) (part backlogPart[T]) {
	for part.used < len(lines) {
		rest := lines[part.used:]
		line := rest[:bytes.IndexByte(rest, '\n')+1]
		c.reset(line, 0, false)
		event, err := d.event(c, known)
		if err != nil || c.end() != nil {
			return part
		}
		part.events = append(part.events, event)
		part.used += len(line)
	}
	return part
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
	decoded := decodeParts(r.decoder, r.cursor, parts, func(c *cursor, items []byte) itemsPart[T] {
		return r.decoder.itemsPart(c, items, r.known)
	})
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
