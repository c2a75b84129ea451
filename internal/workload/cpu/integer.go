package cpu

// integerLength is how many numbers one integer operation sorts: 8 KiB, within
// every first-level data cache.
const integerLength = 1024

// integerOp fills a with pseudo-random numbers from the seed (xorshift64*,
// Vigna 2016, "An experimental exploration of Marsaglia's xorshift
// generators"), sorts it by heap sort (Williams 1964) and returns a hash of
// the sorted numbers (FNV-1a over 64-bit words): shifts, multiplications,
// comparisons, unpredictable branches, and dependent loads.
func integerOp(a *[integerLength]uint64, seed uint64) uint64 {
	x := seed
	for i := range a {
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		a[i] = x * 0x2545F4914F6CDD1D
	}
	heapSort(a)
	h := uint64(0xcbf29ce484222325)
	for _, v := range a {
		h = (h ^ v) * 0x100000001b3
	}
	return h
}

func heapSort(a *[integerLength]uint64) {
	for i := len(a)/2 - 1; i >= 0; i-- {
		siftDown(a, i, len(a))
	}
	for end := len(a) - 1; end > 0; end-- {
		a[0], a[end] = a[end], a[0]
		siftDown(a, 0, end)
	}
}

// siftDown moves a[i] to its place in the heap a[:end].
func siftDown(a *[integerLength]uint64, i, end int) {
	v := a[i]
	for {
		child := 2*i + 1
		if child >= end {
			break
		}
		if child+1 < end && a[child+1] > a[child] {
			child++
		}
		if a[child] <= v {
			break
		}
		a[i] = a[child]
		i = child
	}
	a[i] = v
}

// integerSeed returns the seed of the k-th case.
func integerSeed(k int) uint64 { return uint64(k+1) * 0x9E3779B97F4A7C15 }

// integerHashes are the results for the seeds 0 to 15, computed by
// testdata/expected.py, which sorts with Python's own sort.
var integerHashes = [16]uint64{
	0xa3e40d93c85d8bdb, 0x1418f8a70155b33b, 0xa4e80a4f17a78abe, 0x4f76ff6b87efd7c3,
	0x05e83e00e503c82a, 0xe5bb0066f983aa85, 0x6b91d43fd21dd7f9, 0x1333474b996c2297,
	0x66ddae1c0af67f22, 0x0314ed3f30d42a39, 0xacc4d2771e664181, 0x7312a191c091c745,
	0xce26de84eef612f4, 0x4080c73d25e313fd, 0x496ce40a3922f83e, 0x81d20328c901781b,
}
