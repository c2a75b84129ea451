package kv

// Constants of the 64-bit FNV hash.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 1099511628211
)

// fnv is YCSB's hash of a number (Utils.fnvhash64): FNV-1a over its eight
// bytes, least significant first, and of that the absolute value as a signed
// number, so that 63 bits are left.
func fnv(number int64) uint64 {
	hash := uint64(fnvOffset)
	for range 8 {
		hash = (hash ^ uint64(number)&0xff) * fnvPrime
		number >>= 8
	}
	if int64(hash) < 0 {
		hash = -hash
	}
	return hash
}
