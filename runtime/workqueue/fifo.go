package workqueue

// minCapacity is the number of slots below which a fifo does not shrink.
const minCapacity = 16

// fifo is a queue in a ring of slots. The zero value is empty.
type fifo[T any] struct {
	// slots has the items at first, first+1 and so on, modulo its length. All other slots hold the zero value, so that
	// what was popped can be collected.
	slots []T
	first int
	count int
}

func (f *fifo[T]) len() int { return f.count }

func (f *fifo[T]) push(item T) {
	if f.count == len(f.slots) {
		f.resize(max(minCapacity, 2*f.count))
	}
	f.slots[(f.first+f.count)%len(f.slots)] = item
	f.count++
}

// pop removes and returns the first item. The fifo must not be empty.
func (f *fifo[T]) pop() T {
	var zero T
	item := f.slots[f.first]
	f.slots[f.first] = zero
	f.first = (f.first + 1) % len(f.slots)
	f.count--
	if len(f.slots) > minCapacity && f.count <= len(f.slots)/4 {
		f.resize(len(f.slots) / 2)
	}
	return item
}

func (f *fifo[T]) resize(size int) {
	slots := make([]T, size)
	n := copy(slots[:f.count], f.slots[f.first:])
	copy(slots[n:f.count], f.slots)
	f.slots, f.first = slots, 0
}
