package builder

import "sigs.k8s.io/controller-runtime/pkg/predicate"

// ForOption changes a For.
type ForOption interface{ ApplyToFor(*ForInput) }

// OwnsOption changes an Owns.
type OwnsOption interface{ ApplyToOwns(*OwnsInput) }

// WatchesOption changes a Watches.
type WatchesOption interface{ ApplyToWatches(untypedWatchesInput) }

// untypedWatchesInput is a [WatchesInput] of any request.
type untypedWatchesInput interface {
	setPredicates([]predicate.Predicate)
	setMetadataOnly()
}

func (i *input) setPredicates(predicates []predicate.Predicate) { i.predicates = predicates }

func (i *input) setMetadataOnly() { i.metadataOnly = true }

// WithPredicates filters the events of a kind.
func WithPredicates(predicates ...predicate.Predicate) Predicates { return Predicates{predicates} }

// Predicates filter the events of a kind.
type Predicates struct{ predicates []predicate.Predicate }

// ApplyToFor implements [ForOption].
func (w Predicates) ApplyToFor(opts *ForInput) { opts.setPredicates(w.predicates) }

// ApplyToOwns implements [OwnsOption].
func (w Predicates) ApplyToOwns(opts *OwnsInput) { opts.setPredicates(w.predicates) }

// ApplyToWatches implements [WatchesOption].
func (w Predicates) ApplyToWatches(opts untypedWatchesInput) { opts.setPredicates(w.predicates) }

type onlyMetadata struct{}

// OnlyMetadata watches and caches only the metadata of a kind.
var OnlyMetadata = onlyMetadata{}

// ApplyToFor implements [ForOption].
func (onlyMetadata) ApplyToFor(opts *ForInput) { opts.setMetadataOnly() }

// ApplyToOwns implements [OwnsOption].
func (onlyMetadata) ApplyToOwns(opts *OwnsInput) { opts.setMetadataOnly() }

// ApplyToWatches implements [WatchesOption].
func (onlyMetadata) ApplyToWatches(opts untypedWatchesInput) { opts.setMetadataOnly() }

type matchEveryOwner struct{}

// MatchEveryOwner matches every owner, not only the controlling one.
var MatchEveryOwner = &matchEveryOwner{}

// ApplyToOwns implements [OwnsOption].
func (matchEveryOwner) ApplyToOwns(opts *OwnsInput) { opts.everyOwner = true }
