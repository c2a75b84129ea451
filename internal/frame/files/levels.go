package files

import (
	"encoding/binary"

	"github.com/scalebench/scalebench/internal/frame"
)

// levels gives the different texts of a column numbers, in the order in which
// they appear. Most rows have a text that was there shortly before: those are
// found without making a string or asking a map.
type levels struct {
	recent []recent // a power of two; made with the first text
	room   int      // of recent
	code   map[string]uint16
	all    []string // by their number; all[0] is ""
	handed int      // as many were handed over
	full   bool     // there are more than a fact may have: it is none
}

type recent struct {
	text string
	code uint16
}

// Recent texts of a column that are found at once; of tables with more than manyFacts
// facts they share that room.
const mostRecent, manyFacts = 256, 64

func newLevels() *levels {
	return &levels{room: mostRecent, code: map[string]uint16{"": 0}, all: []string{""}}
}

// newLevelsAmong is newLevels for one of so many facts.
func newLevelsAmong(facts int) *levels {
	l := newLevels()
	for ; l.room > 1 && facts > manyFacts; facts /= 2 {
		l.room /= 2
	}
	return l
}

// of is the number of a text; fresh: it was not there before.
func (l *levels) of(text []byte) (code uint16, fresh bool) {
	if len(text) == 0 {
		return 0, false
	}
	if l.recent == nil {
		l.recent = make([]recent, l.room)
	}
	slot := &l.recent[int(place(text))&(len(l.recent)-1)]
	if slot.text == string(text) {
		return slot.code, false
	}
	code, known := l.code[string(text)]
	if !known {
		if len(l.all) > frame.MostLevels {
			l.full = true
			return 0, false
		}
		code = uint16(len(l.all))
		kept := string(text)
		l.code[kept], l.all = code, append(l.all, kept)
	}
	*slot = recent{l.all[code], code}
	return code, !known
}

// place is where a text stands among the recent ones: by its first and last
// eight bytes.
func place(text []byte) uint8 {
	var head, tail uint64
	if n := len(text); n >= 8 {
		head, tail = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
	} else {
		for _, c := range text {
			head = head<<8 | uint64(c)
		}
	}
	h := (head ^ tail<<1 ^ uint64(len(text))) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: Knuth, 6.4
	return uint8(h >> 56)
}

// hand returns the texts that are new since it was called before.
func (l *levels) hand() []string {
	fresh := l.all[l.handed:]
	l.handed = len(l.all)
	return fresh
}
