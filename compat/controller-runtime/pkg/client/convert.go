package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// This file converts the options of calls into options of kctrl's client. Options without an equivalent, such as those
// of Raw, are stored in the context. [queryTransport] adds them to the query of the request.

type queryKey struct{}

// withRaw returns a context with the fields of options, a struct such as metav1.GetOptions, which [queryTransport] adds
// to the query.
func withRaw(ctx context.Context, options runtime.Object) (context.Context, error) {
	query, err := queryparams.Convert(options)
	if err != nil {
		return ctx, fmt.Errorf("convert options: %w", err)
	}
	return withQuery(ctx, query), nil
}

func withQuery(ctx context.Context, query url.Values) context.Context {
	query.Del("watch") // the client sets it
	if len(query) == 0 {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, query)
}

// queryTransport adds the query in the context to requests. It does not replace parameters.
type queryTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t queryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if added, ok := r.Context().Value(queryKey{}).(url.Values); ok {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		for name, values := range added {
			if !query.Has(name) {
				query[name] = values
			}
		}
		r.URL.RawQuery = query.Encode()
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns the next transport.
func (t queryTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// withQueryTransport returns a client like c that adds the query in the context to requests.
func withQueryTransport(c *http.Client) *http.Client {
	wrapped := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	wrapped.Transport = queryTransport{next}
	return &wrapped
}

// dryRun reports whether stages request a dry run. It passes stages other than All to the server, which rejects them.
func dryRun(ctx context.Context, stages []string) (context.Context, bool) {
	if len(stages) == 0 || slices.Equal(stages, allStages()) {
		return ctx, len(stages) > 0
	}
	return withQuery(ctx, url.Values{"dryRun": stages}), false
}

func (o *CreateOptions) convert(ctx context.Context) (context.Context, *kclient.WriteOptions, error) {
	if o.Raw != nil {
		var err error
		if ctx, err = withRaw(ctx, o.Raw); err != nil {
			return ctx, nil, err
		}
	}
	ctx, dry := dryRun(ctx, o.DryRun)
	return ctx, &kclient.WriteOptions{DryRun: dry, FieldOwner: o.FieldManager, FieldValidation: o.FieldValidation}, nil
}

func (o *UpdateOptions) convert(ctx context.Context) (context.Context, *kclient.WriteOptions, error) {
	if o.Raw != nil {
		var err error
		if ctx, err = withRaw(ctx, o.Raw); err != nil {
			return ctx, nil, err
		}
	}
	ctx, dry := dryRun(ctx, o.DryRun)
	return ctx, &kclient.WriteOptions{DryRun: dry, FieldOwner: o.FieldManager, FieldValidation: o.FieldValidation}, nil
}

func (o *PatchOptions) convert(ctx context.Context) (context.Context, *kclient.WriteOptions, error) {
	if o.Raw != nil {
		var err error
		if ctx, err = withRaw(ctx, o.Raw); err != nil {
			return ctx, nil, err
		}
	}
	ctx, dry := dryRun(ctx, o.DryRun)
	return ctx, &kclient.WriteOptions{
		DryRun: dry, Force: isTrue(o.Force), FieldOwner: o.FieldManager, FieldValidation: o.FieldValidation,
	}, nil
}

func (o *ApplyOptions) convert(ctx context.Context) (context.Context, *kclient.WriteOptions) {
	ctx, dry := dryRun(ctx, o.DryRun)
	return ctx, &kclient.WriteOptions{DryRun: dry, Force: isTrue(o.Force), FieldOwner: o.FieldManager}
}

func (o *DeleteOptions) convert(ctx context.Context) (context.Context, *kclient.DeleteOptions, error) {
	if raw := o.Raw; raw != nil {
		if raw.OrphanDependents != nil || isTrue(raw.IgnoreStoreReadErrorWithClusterBreakingPotential) {
			return ctx, nil, errors.New("delete: Raw.OrphanDependents and " +
				"Raw.IgnoreStoreReadErrorWithClusterBreakingPotential are not supported")
		}
	}
	ctx, dry := dryRun(ctx, o.DryRun)
	converted := &kclient.DeleteOptions{DryRun: dry, GracePeriodSeconds: o.GracePeriodSeconds}
	if o.PropagationPolicy != nil {
		converted.PropagationPolicy = *o.PropagationPolicy
	}
	if p := o.Preconditions; p != nil {
		converted.Preconditions = kclient.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
	}
	return ctx, converted, nil
}

func (o *GetOptions) convert(ctx context.Context) (context.Context, *kclient.GetOptions, error) {
	if o.Raw != nil {
		var err error
		if ctx, err = withRaw(ctx, o.Raw); err != nil {
			return ctx, nil, err
		}
	}
	return ctx, o.cached(), nil
}

// cached returns the options of a cached Get.
func (o *GetOptions) cached() *kclient.GetOptions {
	return &kclient.GetOptions{
		UnsafeDisableDeepCopy:            isTrue(o.UnsafeDisableDeepCopy),
		DisableReadYourWritesConsistency: o.DisableReadYourWritesConsistency,
	}
}

func (o *ListOptions) convert(ctx context.Context) (context.Context, *kclient.ListOptions, error) {
	if o.Raw != nil {
		query, err := queryparams.Convert(o.Raw)
		if err != nil {
			return ctx, nil, fmt.Errorf("convert options: %w", err)
		}
		// The fields of o replace the fields of Raw.
		maps.DeleteFunc(query, func(name string, _ []string) bool { return name == "limit" || name == "continue" })
		ctx = withQuery(ctx, query)
	}
	return ctx, o.cached(), nil
}

// withoutNothing replaces selectors that match nothing by selectors that match everything. Like controller-runtime's
// client, a List or Watch on the server ignores them.
func withoutNothing(o *kclient.ListOptions) *kclient.ListOptions {
	if o.LabelSelector != nil && o.LabelSelector.String() == "" {
		o.LabelSelector = labels.Everything()
	}
	if o.FieldSelector != nil && o.FieldSelector.String() == "" {
		o.FieldSelector = fields.Everything()
	}
	return o
}

// cached returns the options of a cached List.
func (o *ListOptions) cached() *kclient.ListOptions {
	converted := &kclient.ListOptions{
		Namespace: o.Namespace, Limit: o.Limit, Continue: o.Continue,
		UnsafeDisableDeepCopy:            isTrue(o.UnsafeDisableDeepCopy),
		DisableReadYourWritesConsistency: o.DisableReadYourWritesConsistency,
	}
	// Unwrap the selectors, because kctrl detects a selector that matches nothing by its type.
	switch selector := o.LabelSelector.(type) {
	case MatchingLabelsSelector:
		converted.LabelSelector = selector.Selector
	default:
		converted.LabelSelector = selector
	}
	switch selector := o.FieldSelector.(type) {
	case MatchingFieldsSelector:
		converted.FieldSelector = selector.Selector
	default:
		converted.FieldSelector = selector
	}
	return converted
}

func isTrue(b *bool) bool { return b != nil && *b }

// Cached returns the options for a cache of kctrl. Only packages of this module use it.
func (o *GetOptions) Cached() *kclient.GetOptions { return o.cached() }

// Cached returns the options for a cache of kctrl. Only packages of this module use it.
func (o *ListOptions) Cached() *kclient.ListOptions { return o.cached() }
