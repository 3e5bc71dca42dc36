package client

// LiveRead is the type of [Live].
type LiveRead bool

// Live makes a read ask the API server for the latest state, also when the kind is cached.
const Live LiveRead = true

// ApplyToGet makes a Get live.
func (l LiveRead) ApplyToGet(o *GetOptions) { o.Live = o.Live || bool(l) }

// ApplyToList makes a List live.
func (l LiveRead) ApplyToList(o *ListOptions) { o.Live = o.Live || bool(l) }

// SharedRead is the type of [UnsafeDisableDeepCopy].
type SharedRead bool

// UnsafeDisableDeepCopy makes a cached read return objects that share their maps, slices and pointers with the cache.
// They must not be modified, nor passed to a write. A live read returns objects of the caller's own as always.
const UnsafeDisableDeepCopy SharedRead = true

// ApplyToGet lets a Get share.
func (s SharedRead) ApplyToGet(o *GetOptions) {
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || bool(s)
}

// ApplyToList lets a List share.
func (s SharedRead) ApplyToList(o *ListOptions) {
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || bool(s)
}

// StaleRead is the type of [DisableReadYourWritesConsistency].
type StaleRead bool

// DisableReadYourWritesConsistency lets a cached read be older than the writes of this process: it does not wait for
// the cache to catch up with them.
const DisableReadYourWritesConsistency StaleRead = true

// ApplyToGet lets a Get be stale.
func (s StaleRead) ApplyToGet(o *GetOptions) {
	o.DisableReadYourWritesConsistency = o.DisableReadYourWritesConsistency || bool(s)
}

// ApplyToList lets a List be stale.
func (s StaleRead) ApplyToList(o *ListOptions) {
	o.DisableReadYourWritesConsistency = o.DisableReadYourWritesConsistency || bool(s)
}
