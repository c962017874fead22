package queue

// Heap is a binary min-heap whose elements know their place in it, so that
// any of them can be moved or removed in O(log n).
type Heap[E any] struct {
	less func(a, b E) bool
	pos  func(E) *int // where the element keeps its place: index+1, 0 when outside
	list []E
}

// NewHeap makes an empty heap. less must be a total order: ties would be
// broken by the history of the heap.
func NewHeap[E any](less func(a, b E) bool, pos func(E) *int) *Heap[E] {
	return &Heap[E]{less: less, pos: pos}
}

// Len is the number of elements.
func (h *Heap[E]) Len() int { return len(h.list) }

// Min is the least element; the heap must not be empty.
func (h *Heap[E]) Min() E { return h.list[0] }

// Push adds an element that is in no place yet.
func (h *Heap[E]) Push(e E) {
	h.list = append(h.list, e)
	*h.pos(e) = len(h.list)
	h.up(len(h.list) - 1)
}

// Fix restores the order after e changed.
func (h *Heap[E]) Fix(e E) {
	i := *h.pos(e) - 1
	if !h.down(i) {
		h.up(i)
	}
}

// Remove takes e out; nothing happens if it is not in.
func (h *Heap[E]) Remove(e E) {
	i := *h.pos(e) - 1
	if i < 0 {
		return
	}
	last := len(h.list) - 1
	if i != last {
		h.swap(i, last)
	}
	*h.pos(e) = 0
	var none E
	h.list[last] = none
	h.list = h.list[:last]
	if i != last && !h.down(i) {
		h.up(i)
	}
}

func (h *Heap[E]) swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	*h.pos(h.list[i]), *h.pos(h.list[j]) = i+1, j+1
}

func (h *Heap[E]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.list[i], h.list[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *Heap[E]) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(h.list) {
			break
		}
		if right := child + 1; right < len(h.list) && h.less(h.list[right], h.list[child]) {
			child = right
		}
		if !h.less(h.list[child], h.list[i]) {
			break
		}
		h.swap(i, child)
		i = child
	}
	return i > start
}
