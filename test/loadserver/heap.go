package loadserver

// heap keeps the first of its items at index 0 (a binary heap: Williams,
// Algorithm 232, Communications of the ACM 7(6), 1964). Package container/heap
// would allocate for every request.
type heap[T any] struct {
	before func(a, b T) bool
	items  []T
}

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *heap[T]) pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	h.sink()
	return first
}

// replace puts x in the place of the first.
func (h *heap[T]) replace(x T) {
	h.items[0] = x
	h.sink()
}

// sink moves the item at index 0 to where it belongs.
func (h *heap[T]) sink() {
	i := 0
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.before(h.items[child], h.items[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h.items[i], h.items[first] = h.items[first], h.items[i]
		i = first
	}
}
