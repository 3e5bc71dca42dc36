package informer

import "github.com/kctrl-dev/kctrl/runtime/object"

// compactLocked is how the backlog of a DeltaFIFO becomes shorter. The version of the last delta stays that of the
// whole backlog: when the last one is applied, so is everything.
func (f *DeltaFIFO[T]) compactLocked(pending []Delta[T]) []Delta[T] {
	version := lastVersion(pending)
	out := f.withoutUnseenLocked(compact(pending))
	if len(out) == 0 {
		return append(out, Delta[T]{Type: Bookmark, ResourceVersion: version})
	}
	out[len(out)-1].ResourceVersion = version
	return out
}

func lastVersion[T object.Object](pending []Delta[T]) string {
	for i := len(pending) - 1; i >= 0; i-- {
		if v := pending[i].ResourceVersion; v != "" {
			return v
		}
	}
	return ""
}

// withoutUnseenLocked drops each deletion of an object that the consumer will not know when it gets there.
func (f *DeltaFIFO[T]) withoutUnseenLocked(pending []Delta[T]) []Delta[T] {
	known := f.knownLocked()
	first := make(map[object.Key]bool) // the keys seen since the start or the last Replaced
	kept := pending[:0]
	for _, d := range pending {
		switch d.Type {
		case Replaced:
			known = knownAfter(d)
			clear(first)
		case Added, Updated, Deleted:
			if d.Type == Deleted && !first[d.Key] && !known(d.Key) {
				continue
			}
			first[d.Key] = true
		}
		kept = append(kept, d)
	}
	clear(pending[len(kept):])
	return kept
}

// knownLocked returns what the consumer knows before the first pending delta. While a batch is being processed its
// keys count as known.
func (f *DeltaFIFO[T]) knownLocked() func(object.Key) bool {
	inflight := make(map[object.Key]bool, len(f.inflight))
	for _, d := range f.inflight {
		if d.Type == Replaced {
			return func(object.Key) bool { return true }
		}
		inflight[d.Key] = true
	}
	return func(key object.Key) bool { return inflight[key] || f.known(key) }
}

func knownAfter[T object.Object](replaced Delta[T]) func(object.Key) bool {
	keys := make(map[object.Key]bool, len(replaced.Objects)+len(replaced.Retained))
	for key := range replaced.listed() {
		keys[key] = true
	}
	for _, key := range replaced.Retained {
		keys[key] = true
	}
	return func(key object.Key) bool { return keys[key] }
}
