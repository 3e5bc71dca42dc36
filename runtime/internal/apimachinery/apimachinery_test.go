package apimachinery

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//lint:ignore SA1019 it is the one that all versions have
var theirs = path.ValidatePathSegmentName

func TestPathSegmentsAreThoseOfApimachinery(t *testing.T) {
	for _, name := range []string{"", "a", ".", "..", "...", "a/b", "a%b", "%/", "/", "a.b", "ä", "a\x00"} {
		if got, want := IsPathSegmentName(name), theirs(name, false); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func FuzzPathSegmentsAreThoseOfApimachinery(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string) {
		if got, want := IsPathSegmentName(name), theirs(name, false); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	})
}

var errAsked = errors.New("asked")

// withContext is a mapper with a method that takes a context; plain is one without it.
type (
	plain       struct{ meta.RESTMapper }
	withContext struct{ meta.RESTMapper }
)

func (plain) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errAsked
}

func (withContext) RESTMappingWithContext(ctx context.Context, _ schema.GroupKind,
	_ ...string) (*meta.RESTMapping, error) {
	return nil, context.Cause(ctx)
}

func TestMapperGetsTheContextIfItTakesOne(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := RESTMapping(ctx, withContext{}, schema.GroupKind{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := RESTMapping(ctx, plain{}, schema.GroupKind{}); !errors.Is(err, errAsked) {
		t.Errorf("got %v", err)
	}
}
