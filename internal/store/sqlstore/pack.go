package sqlstore

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Packed blobs begin with a byte that tells their form.
const (
	packRaw  = 0
	packZstd = 1
)

const (
	// packMin is the size in bytes below which compression does not pay.
	packMin = 128
	// packMax bounds what a blob may unpack to, in bytes, so that a damaged
	// one cannot take all memory. The store writes none that is larger.
	packMax = 1 << 30
)

// codec packs and unpacks blobs. It is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("preparing compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(packMax))
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

func (c *codec) close() {
	c.dec.Close()
	// Nothing was streamed through the encoder, so there is nothing to flush.
	_ = c.enc.Close()
}

// pack returns raw in its stored form: compressed where that is shorter.
func (c *codec) pack(raw []byte) ([]byte, error) {
	if len(raw) > packMax {
		return nil, fmt.Errorf("%d bytes are more than a blob may hold (%d)", len(raw), packMax)
	}
	if len(raw) >= packMin {
		if z := c.enc.EncodeAll(raw, []byte{packZstd}); len(z) <= len(raw) {
			return z, nil
		}
	}
	return append([]byte{packRaw}, raw...), nil
}

// unpack returns what pack was given.
func (c *codec) unpack(blob []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("unpacking a blob: it is empty")
	}
	switch blob[0] {
	case packRaw:
		return blob[1:], nil
	case packZstd:
		raw, err := c.dec.DecodeAll(blob[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("unpacking a blob: %w", err)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("unpacking a blob: unknown form %d", blob[0])
}
