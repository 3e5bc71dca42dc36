package incremental

import "github.com/kctrl-dev/kctrl/internal/source/resolve"

// Current returns the entry of a key, if the disk with an overlay still gives the same answers. If that can be seen
// without reading the next time, it is noted.
func (s Store) Current(key Key, environment *resolve.Environment, overlay map[string][]byte) (*Entry, bool) {
	entry, ok := s.Get(key)
	if !ok {
		return nil, false
	}
	if stamped, ok := s.GetStamped(key); ok && len(overlay) == 0 && stamped.Entry == entry.Sum && s.Holds(key, stamped) {
		return entry, true
	}
	stamps, settled, unchanged := entry.Inputs.Unchanged(environment, overlay)
	if settled {
		// Without stamps the next run reads what this one has read.
		_ = s.PutStamped(key, &Stamped{Entry: entry.Sum, Inputs: stamps})
	}
	return entry, unchanged
}
