package source_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func TestFuncIsASource(t *testing.T) {
	fails := errors.New("no")
	s := source.Func("ticks", func(_ context.Context, queue handler.Queue[string], synced func()) error {
		queue.Add("a")
		synced()
		return fails
	})
	if s.String() != "ticks" || s.Err() != nil {
		t.Errorf("got %s, %v", s, s.Err())
	}
	q := &queue{}
	if err := s.Run(t.Context(), q, q.synced); err != fails || s.Err() != fails {
		t.Errorf("got %v, %v", err, s.Err())
	}
	if got := q.took(); !slices.Equal(got, []string{"a", "synced"}) {
		t.Errorf("got %q", got)
	}
}

// failing is a source with an error.
type failing struct {
	source.Source[string]
	err error
}

func (f failing) Err() error { return f.err }

func TestOnlyAnOptionalSourceOfAnUnknownKindIsAbsent(t *testing.T) {
	unknown := fmt.Errorf("list things: %w", &meta.NoKindMatchError{})
	for _, r := range []struct {
		what           string
		source         source.Source[string]
		optional, want bool
	}{
		{"required", failing{err: unknown}, false, false},
		{"optional", source.Optional[string](failing{err: unknown}), true, true},
		{"another error", source.Optional[string](failing{err: errors.New("forbidden")}), true, false},
		{"no error", source.Optional[string](failing{}), true, false},
	} {
		if source.IsOptional(r.source) != r.optional || source.IsAbsent(r.source) != r.want {
			t.Errorf("%s: got %t, %t", r.what, source.IsOptional(r.source), source.IsAbsent(r.source))
		}
	}
}
