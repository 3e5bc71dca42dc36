package workqueue

type node[E any] interface {
	// before reports whether the node comes before other.
	before(other E) bool
	// position returns the address of a field that holds the node's index in the heap plus one, or zero outside a heap.
	position() *int
}

// heap is a binary heap whose top comes before all other nodes. The zero value is empty.
type heap[E node[E]] struct{ nodes []E }

func (h *heap[E]) len() int { return len(h.nodes) }

// top returns the first node. The heap must not be empty.
func (h *heap[E]) top() E { return h.nodes[0] }

func (h *heap[E]) push(e E) {
	h.nodes = append(h.nodes, e)
	h.up(len(h.nodes)-1, e)
}

// fix restores the heap after the order of e changed.
func (h *heap[E]) fix(e E) {
	i := *e.position() - 1
	if !h.up(i, e) {
		h.down(i, e)
	}
}

func (h *heap[E]) remove(e E) {
	i := *e.position() - 1
	last := len(h.nodes) - 1
	moved := h.nodes[last]
	var none E
	h.nodes[last] = none
	h.nodes = h.nodes[:last]
	*e.position() = 0
	if i != last {
		*moved.position() = i + 1
		h.nodes[i] = moved
		h.fix(moved)
	}
	if cap(h.nodes) > minCapacity && len(h.nodes) <= cap(h.nodes)/4 {
		h.nodes = append(make([]E, 0, cap(h.nodes)/2), h.nodes...)
	}
}

// up moves e, which belongs at i or above, to its position. It reports whether e moved above i.
func (h *heap[E]) up(i int, e E) bool {
	start := i
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(h.nodes[parent]) {
			break
		}
		h.set(i, h.nodes[parent])
		i = parent
	}
	h.set(i, e)
	return i != start
}

// down moves e, which belongs at i or below, to its position.
func (h *heap[E]) down(i int, e E) {
	for {
		child := 2*i + 1
		if child >= len(h.nodes) {
			break
		}
		if right := child + 1; right < len(h.nodes) && h.nodes[right].before(h.nodes[child]) {
			child = right
		}
		if !h.nodes[child].before(e) {
			break
		}
		h.set(i, h.nodes[child])
		i = child
	}
	h.set(i, e)
}

func (h *heap[E]) set(i int, e E) {
	h.nodes[i] = e
	*e.position() = i + 1
}
