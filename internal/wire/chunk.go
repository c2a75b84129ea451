package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// errChunk says that the bytes are not an encoded chunk.
var errChunk = errors.New("decoding wire.Chunk: not a chunk")

// EncodeChunk is the form in which chunks travel: the length of the JSON
// header (4 bytes, big endian), the header, and the data as it is. In JSON the
// data would grow by a third.
func EncodeChunk(c Chunk) ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("encoding wire.Chunk: %w", err)
	}
	data := c.Data
	c.Data = nil
	header, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding wire.Chunk: %w", err)
	}
	out := make([]byte, 0, 4+len(header)+len(data))
	out = binary.BigEndian.AppendUint32(out, uint32(len(header)))
	return append(append(out, header...), data...), nil
}

// DecodeChunk parses and checks what EncodeChunk made. The chunk's data shares
// memory with the input. It never panics on any input.
func DecodeChunk(b []byte) (Chunk, error) {
	if len(b) < 4 {
		return Chunk{}, errChunk
	}
	n, rest := binary.BigEndian.Uint32(b), b[4:]
	if uint64(n) > uint64(len(rest)) {
		return Chunk{}, errChunk
	}
	var c Chunk
	if err := json.Unmarshal(rest[:n], &c); err != nil {
		return Chunk{}, fmt.Errorf("decoding wire.Chunk: %w", err)
	}
	c.Data = rest[n:]
	if err := c.Check(); err != nil {
		return Chunk{}, fmt.Errorf("checking wire.Chunk: %w", err)
	}
	return c, nil
}
