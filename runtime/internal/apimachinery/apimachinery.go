// Package apimachinery replaces functions of the newest k8s.io/apimachinery, so that the runtime compiles with its last
// three minor versions (v0.35 to v0.37).
package apimachinery

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RESTMapping returns the mapping of a kind. It passes the context to mapper if that supports it.
func RESTMapping(ctx context.Context, mapper meta.RESTMapper, kind schema.GroupKind,
	versions ...string) (*meta.RESTMapping, error) {
	if m, ok := mapper.(interface {
		RESTMappingWithContext(ctx context.Context, kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	}); ok {
		return m.RESTMappingWithContext(ctx, kind, versions...)
	}
	return mapper.RESTMapping(kind, versions...)
}

// IsPathSegmentName returns the reasons why a name cannot be a segment of a URL path, or nothing if it can.
func IsPathSegmentName(name string) (problems []string) {
	if name == "." || name == ".." {
		return []string{fmt.Sprintf("may not be '%s'", name)}
	}
	for _, illegal := range []string{"/", "%"} {
		if strings.Contains(name, illegal) {
			problems = append(problems, fmt.Sprintf("may not contain '%s'", illegal))
		}
	}
	return problems
}
