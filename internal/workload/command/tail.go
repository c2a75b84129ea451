package command

import "bytes"

// keepHalf is how much of the begin and of the end of a stream is kept for
// extraction.
const keepHalf = 8 << 20

// gap stands where text was left out. It has no digit that an expression could
// take for a number.
const gap = "\n[…]\n"

// keeper keeps the begin and the end of a stream in bounded memory. Not safe
// for concurrent use.
type keeper struct {
	half int
	head []byte
	// tail holds what came after head, up to two halves: the older half is
	// dropped when it is full, so that bytes are moved once a half.
	tail []byte
	cut  bool // something was dropped
}

func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head, p = append(k.head, p[:take]...), p[take:]
	}
	for len(p) > 0 {
		take := min(2*k.half-len(k.tail), len(p))
		k.tail, p = append(k.tail, p[:take]...), p[take:]
		if len(k.tail) == 2*k.half {
			k.cut = true
			k.tail = k.tail[:copy(k.tail, k.tail[k.half:])]
		}
	}
	return n, nil
}

// text returns what was kept: everything, or the first and the last whole
// lines. A line that the cut has split is left out, because half a number is
// another number.
func (k *keeper) text() []byte {
	if !k.cut {
		return append(append([]byte(nil), k.head...), k.tail...)
	}
	head := k.head[:bytes.LastIndexByte(k.head, '\n')+1]
	tail := k.tail
	if len(tail) > k.half {
		tail = tail[len(tail)-k.half:]
	}
	tail = tail[bytes.IndexByte(tail, '\n')+1:]
	return append(append(append([]byte(nil), head...), gap...), tail...)
}
