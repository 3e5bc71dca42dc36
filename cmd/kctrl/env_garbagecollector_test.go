//go:build linux || darwin

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// lines is a writer that sends to a channel until ctx ends.
type lines struct {
	ctx context.Context
	to  chan string
}

func (l lines) Write(text []byte) (int, error) {
	select {
	case l.to <- string(text):
	case <-l.ctx.Done():
	}
	return len(text), nil
}

// TestCollectorWaitsForItsServer checks that the collector keeps running while the API server is not available, and
// ends when it is stopped.
func TestCollectorWaitsForItsServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said := lines{ctx, make(chan string)}
	ended := make(chan error, 1)
	go func() {
		ended <- collectGarbage(ctx, newStreams(nil, nil, said), &rest.Config{Host: "http://127.0.0.1:1"})
	}()
	for range 2 { // it retries
		select {
		case line := <-said.to:
			if !strings.Contains(line, `level=WARN msg="ask the API server for its kinds"`) ||
				!strings.Contains(line, "127.0.0.1:1") {
				t.Errorf("it says %s", line)
			}
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		case <-ctx.Done():
			t.Fatal("it says nothing")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("stopped, it ends with %v", err)
	}
}
