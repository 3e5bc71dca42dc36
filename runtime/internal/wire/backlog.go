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

// decodeBacklog decodes the events that have arrived already into ready, in order, on several processors. It leaves all
// that is not an event in one line to the caller, with what follows it. It returns after the last goroutine has ended.
func (s *Stream[T]) decodeBacklog(workers int) {
	parts := split(s.frames.unused(), workers)
	decoded := make([]backlogPart[T], len(parts))
	var working sync.WaitGroup
	for i, lines := range parts[1:] {
		working.Go(func() {
			c := s.decoder.cursor()
			defer s.decoder.release(c)
			decoded[i+1] = s.decoder.backlogPart(c, lines, s.known)
		})
	}
	decoded[0] = s.decoder.backlogPart(s.cursor, parts[0], s.known)
	working.Wait()
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
