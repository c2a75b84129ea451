package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// A frame is what stands inside a sealed request or reply. Its first byte
// says what follows.
const (
	frameBody   byte = iota // the body itself
	frameParts              // transfer id, number of parts: the body travels apart
	frameError              // kind of error (1 byte), text
	frameReplay             // reply only: the latest issue time seen of this sender
)

// transferID names a body that travels in parts.
type transferID [16]byte

// frame is the decoded form.
type frame struct {
	kind  byte
	body  []byte
	id    transferID
	parts int
	err   error
	floor time.Time
}

var errFrame = errors.New("message has no known form")

// maxParts bounds how many parts a body can have: with the smallest part size
// still more than maxMessage.
const maxParts = 1 << 16

func bodyFrame(body []byte) []byte { return append([]byte{frameBody}, body...) }

func partsFrame(id transferID, parts int) []byte {
	out := append([]byte{frameParts}, id[:]...)
	return binary.BigEndian.AppendUint32(out, uint32(parts))
}

func errorFrame(err error) []byte {
	return append([]byte{frameError, kindOf(err)}, err.Error()...)
}

func replayFrame(floor time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte{frameReplay}, uint64(floor.UnixNano()))
}

// parseFrame decodes a frame; the body shares memory with data.
func parseFrame(data []byte) (frame, error) {
	if len(data) == 0 {
		return frame{}, errFrame
	}
	f, rest := frame{kind: data[0]}, data[1:]
	switch f.kind {
	case frameBody:
		f.body = rest
	case frameParts:
		if len(rest) != len(f.id)+4 {
			return frame{}, errFrame
		}
		f.id = transferID(rest)
		f.parts = int(binary.BigEndian.Uint32(rest[len(f.id):]))
		if f.parts < 1 || f.parts > maxParts {
			return frame{}, errFrame
		}
	case frameError:
		if len(rest) == 0 {
			return frame{}, errFrame
		}
		f.err = remoteError{kind: errorKind(rest[0]), text: string(rest[1:])}
	case frameReplay:
		if len(rest) != 8 {
			return frame{}, errFrame
		}
		f.floor = time.Unix(0, int64(binary.BigEndian.Uint64(rest)))
	default:
		return frame{}, errFrame
	}
	return f, nil
}

// part is one piece of a body that travels apart, or the request for it.
type part struct {
	id    transferID
	index int
	count int
	data  []byte
}

const partHeader = 16 + 4 + 4

func (p part) encode() []byte {
	out := append(make([]byte, 0, partHeader+len(p.data)), p.id[:]...)
	out = binary.BigEndian.AppendUint32(out, uint32(p.index))
	out = binary.BigEndian.AppendUint32(out, uint32(p.count))
	return append(out, p.data...)
}

func parsePart(data []byte) (part, error) {
	if len(data) < partHeader {
		return part{}, errFrame
	}
	p := part{
		id:    transferID(data),
		index: int(binary.BigEndian.Uint32(data[16:])),
		count: int(binary.BigEndian.Uint32(data[20:])),
		data:  data[partHeader:],
	}
	if p.count < 1 || p.count > maxParts || p.index >= p.count {
		return part{}, errFrame
	}
	return p, nil
}

// errorKinds are the kinds of error that keep their meaning across the wire;
// the position is the code. Codes are never reused.
func errorKinds() []error {
	return []error{
		nil,
		model.ErrUsage,
		model.ErrNotFound,
		model.ErrInvalid,
		model.ErrThreshold,
		model.ErrDenied,
		model.ErrStale,
		model.ErrUnavailable,
	}
}

// kindOf returns the code of an error, 0 if it has no kind.
func kindOf(err error) byte {
	for code, kind := range errorKinds() {
		if kind != nil && errors.Is(err, kind) {
			return byte(code)
		}
	}
	return 0
}

// errorKind is nil for a code that this version does not know.
func errorKind(code byte) error {
	if kinds := errorKinds(); int(code) < len(kinds) {
		return kinds[code]
	}
	return nil
}

// remoteError is an error of the other side: its text, and its kind for
// errors.Is.
type remoteError struct {
	kind error
	text string
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.kind }

// unavailable is an error of this side for which trying again can help.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", model.ErrUnavailable, fmt.Errorf(format, args...))
}
