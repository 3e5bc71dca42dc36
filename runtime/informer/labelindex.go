package informer

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Bounds of label indexes. The store builds an index after reads by its label have examined, without a match,
// scansPerIndex times the number of objects in the store. It removes the index after changesPerIndex times as many
// changes without a read. A store has at most mostLabelIndexes, and none if it has fewer than leastIndexed objects.
const (
	scansPerIndex    = 16
	changesPerIndex  = 16
	mostLabelIndexes = 4
	leastIndexed     = 1000
)

// labelIndexes are the indexes of one store by the values of labels that reads often select. Reads build them and
// changes remove them. The mutex of the contents guards byLabel.
type labelIndexes struct {
	byLabel map[string]*labelIndex

	mu     sync.Mutex     // guards wasted; may be locked while the mutex of the contents is held
	wasted map[string]int // objects that reads by an unindexed label examined without a match; at most 16 labels
}

// labelIndex maps the values of one label to the keys of the objects.
type labelIndex struct {
	keys postings[string]
	idle atomic.Int64 // changes since the last read
}

func (ix *labelIndex) insert(key object.Key, value string) {
	if ix.keys[value] == nil {
		value = strings.Clone(value) // the string may keep an object alive
	}
	ix.keys.add(value, key)
}

// with returns the keys of the objects with one of the values, and their number.
func (ix *labelIndex) with(values []string) (keys iter.Seq[object.Key], count int) {
	for _, value := range values {
		count += ix.keys[value].len()
	}
	return func(yield func(object.Key) bool) {
		for _, value := range values {
			for key := range ix.keys.of(value) {
				if !yield(key) {
					return
				}
			}
		}
	}, count
}

// equality returns a label for which selector accepts only the returned values, or "" if there is none.
func equality(selector labels.Selector) (label string, values []string) {
	if selector == nil {
		return "", nil
	}
	requirements, _ := selector.Requirements()
	for i := range requirements {
		switch r := &requirements[i]; r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			values = r.ValuesUnsorted()
			slices.Sort(values)
			return r.Key(), slices.Compact(values)
		}
	}
	return "", nil
}

// mostWasted is the maximum number of labels for which a store counts scans.
const mostWasted = 16

// scanned records that a read by a label examined inVain objects, and reports whether an index is worthwhile.
func (l *labelIndexes) scanned(label string, inVain, objects int) bool {
	if objects < leastIndexed {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.wasted[label]; !ok && len(l.wasted) >= mostWasted {
		clear(l.wasted)
	}
	l.wasted[label] += inVain
	if l.wasted[label] < scansPerIndex*objects {
		return false
	}
	delete(l.wasted, label)
	return true
}

// buildLabelIndex adds an index of a label. If there are too many, it replaces the one that was unused the longest.
func (c *contents[T]) buildLabelIndex(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.labels.byLabel
	if all[label] != nil {
		return
	}
	if len(all) >= mostLabelIndexes {
		delete(all, slices.MaxFunc(slices.Collect(maps.Keys(all)), func(a, b string) int {
			return int(all[a].idle.Load() - all[b].idle.Load())
		}))
	}
	all[label] = indexByLabel(c.items, label)
}

// rebuiltLabels returns the label indexes for other items. Readers may continue meanwhile.
func (c *contents[T]) rebuiltLabels(items items[T]) map[string]*labelIndex {
	c.mu.RLock()
	names := slices.Collect(maps.Keys(c.labels.byLabel))
	c.mu.RUnlock()
	built := make(map[string]*labelIndex, len(names))
	for _, label := range names {
		built[label] = indexByLabel(items, label)
	}
	return built
}

func indexByLabel[T object.Object](items items[T], label string) *labelIndex {
	ix := &labelIndex{keys: postings[string]{}}
	for key, obj := range items.all() {
		if value, ok := items.label(&obj, label); ok {
			ix.insert(key, value)
		}
	}
	return ix
}

// insertLabelsLocked adds an object to the label indexes. It removes indexes that changed often without being read.
func (c *contents[T]) insertLabelsLocked(key object.Key, obj *stored[T]) {
	for label, ix := range c.labels.byLabel {
		if ix.idle.Add(1) > int64(changesPerIndex*max(c.items.len(), leastIndexed)) {
			delete(c.labels.byLabel, label)
		} else if value, ok := c.items.label(obj, label); ok {
			ix.insert(key, value)
		}
	}
}

func (c *contents[T]) removeLabelsLocked(key object.Key, old *stored[T]) {
	for label, ix := range c.labels.byLabel {
		if value, ok := c.items.label(old, label); ok {
			ix.keys.remove(value, key)
		}
	}
}
