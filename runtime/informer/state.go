package informer

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// state is all that a reflector remembers between two steps.
type state[T object.Object] struct {
	phase phase
	// version is where the sink is: the next watch starts here. It is empty before the first complete state.
	version string
	// latest makes the next list ask for the latest state there is, because the server refused version.
	latest bool
	// streaming makes the next list a streaming one. It is off for good once the server has shown that it has none.
	streaming bool
	// cut counts the streaming lists in a row that ended before all was sent.
	cut int
	// paged is set when the server pages even a list that it may answer from its cache: it has no such cache.
	paged bool
	// stream is what a streaming list goes on with as a watch; nil opens a new one.
	stream client.Stream[T]
}

// phase is what a reflector does next.
type phase int

const (
	// streamingList: the whole state is read from a watch that sends it first.
	streamingList phase = iota
	// listing: the whole state is read by a LIST, page by page.
	listing
	// watching: changes since version are read.
	watching
)

// step does what s asks for and returns what is next. With an error, that is to be done after a pause. A finished
// context is no error.
func (r *Reflector[T]) step(ctx context.Context, s state[T]) (state[T], error) {
	switch s.phase {
	case streamingList:
		return r.streamList(ctx, s)
	case listing:
		return r.list(ctx, s)
	default:
		return r.watch(ctx, s)
	}
}

// relist returns s with reading the whole state as the next thing to do.
func (s state[T]) relist() state[T] {
	s.phase = listing
	if s.streaming {
		s.phase = streamingList
	}
	return s
}

// complete returns s after the whole state of that version was pushed: watching is next.
func (s state[T]) complete(version string) state[T] {
	s.phase, s.version, s.latest, s.cut = watching, version, false, 0
	return s
}

// closeStream ends the stream that is to be gone on with, if there is one.
func (s *state[T]) closeStream() {
	if s.stream != nil {
		_ = s.stream.Close()
		s.stream = nil
	}
}
