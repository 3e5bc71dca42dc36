package simulator

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// patience is the real time without progress after which a run is stuck.
const patience = 20 * time.Second

// StuckError reports a goroutine that stops the virtual time of a bubble, because it waits for something outside the
// bubble, such as a socket, a C call or a lock of another bubble.
type StuckError struct {
	State  string // state in the Go runtime, such as "IO wait"
	Source string // innermost file and line in the operator's code, or in any code if there is none
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("a goroutine is in the state %q at %s, and virtual time cannot pass", e.State, e.Source)
}

// watch calls stuck when beats has not changed for the duration of patience. The returned function ends the watch. Call
// watch outside the bubble, because it uses real time.
func watch(beats *atomic.Int64, sources string, stuck func(error)) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with end
		defer close(ended)
		tick := time.NewTicker(patience / 4)
		defer tick.Stop()
		last, since := beats.Load(), time.Now()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if now := beats.Load(); now != last {
				last, since = now, time.Now()
				continue
			}
			if time.Since(since) >= patience {
				stuck(blocked(allStacks(), sources))
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

func allStacks() []byte {
	stacks := make([]byte, 16<<20)
	return stacks[:runtime.Stack(stacks, true)]
}

// blocked returns a StuckError for the goroutine of a bubble that does not wait within the bubble.
func blocked(stacks []byte, sources string) error {
	found := &StuckError{State: "unknown", Source: "an unknown line"}
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		header, frames, _ := strings.Cut(string(stack), "\n")
		_, state, ok := strings.Cut(header, "[")
		if !ok || !strings.Contains(state, "synctest bubble") || strings.Contains(state, "(durable)") ||
			strings.Contains(state, "synctest.Wait") {
			continue
		}
		state, _, _ = strings.Cut(state, ",")
		source, own := lineIn(frames, sources)
		if found.State == "unknown" || own {
			found.State, found.Source = state, source
		}
		if own {
			break
		}
	}
	return found
}

// lineIn returns the innermost line of the operator's code in the frames of a stack. If there is none, it returns the
// innermost line, and own is false.
func lineIn(frames, sources string) (line string, own bool) {
	first := ""
	for frame := range strings.Lines(frames) {
		text, isFile := strings.CutPrefix(frame, "\t")
		if !isFile {
			continue
		}
		text, _, _ = strings.Cut(strings.TrimSpace(text), " +")
		if first == "" {
			first = text
		}
		if rest, ok := strings.CutPrefix(text, sources); ok && sources != "" {
			return rest, true
		}
	}
	return first, false
}
