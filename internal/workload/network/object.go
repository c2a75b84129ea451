package network

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
)

// object is what is transferred: a file in memory, with content that both ends
// can compute.
type object struct {
	file *os.File
	size int64
}

const (
	blockSize = 1 << 20
	// headSize is how many bytes of each transfer are compared with what they
	// must be; the rest is counted and dropped in the kernel.
	headSize = 4096
)

// newObject fills a file in memory, or in dir on systems without such files. It
// repeats one block: a link or tunnel that compresses cannot shrink it as long
// as it looks back less than 1 MiB.
func newObject(ctx context.Context, dir string, size int64) (*object, error) {
	file, err := memoryFile(dir)
	if err != nil {
		return nil, fmt.Errorf("making the object: %w", err)
	}
	block := pattern(blockSize)
	for left := size; left > 0 && err == nil; left -= blockSize {
		_, err = file.Write(block[:min(left, blockSize)])
		err = cmp.Or(err, ctx.Err())
	}
	if err != nil {
		_ = file.Close() // the error before is the cause
		return nil, fmt.Errorf("filling the object of %d bytes in memory (a smaller `size` needs less): %w", size, err)
	}
	return &object{file: file, size: size}, nil
}

func (o *object) close() error { return o.file.Close() }

// pattern returns the first n bytes of the object: pseudo-random numbers
// (xorshift64*), little endian. n is a multiple of 8.
func pattern(n int) []byte {
	b := make([]byte, 0, n)
	x := uint64(0x5ca1ab1e)
	for len(b) < n {
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		v := x * 0x2545f4914f6cdd1d
		for range 8 {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	return b
}

// counted gets how much is written to it.
type counted func(int64)

func (c counted) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}

// discardCopying is discard without the kernel's help.
func discardCopying(r io.Reader, n int64, took func(int64)) error {
	_, err := io.CopyN(counted(took), r, n)
	return unexpected(err)
}

// sendCopying is sendFile without the kernel's help.
func sendCopying(conn net.Conn, file *os.File, n int64, took func(int64)) error {
	_, err := io.Copy(io.MultiWriter(conn, counted(took)), io.NewSectionReader(file, 0, n))
	return err
}
