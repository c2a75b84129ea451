package network

import (
	"errors"
	"io"
	"net"
	"os"
)

// discardCopying is discard without the kernel's help.
func discardCopying(r io.Reader, n int64, took func(int64)) error {
	buffer := make([]byte, min(n, 128<<10))
	for n > 0 {
		k, err := r.Read(buffer[:min(n, int64(len(buffer)))])
		if n -= int64(k); k > 0 {
			took(int64(k))
		}
		switch {
		case n == 0:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return nil
}

// sendCopying is sendFile without the kernel's help.
func sendCopying(conn net.Conn, file *os.File, n int64, took func(int64)) error {
	buffer := make([]byte, min(n, 128<<10))
	for offset := int64(0); offset < n; {
		k, err := file.ReadAt(buffer[:min(n-offset, int64(len(buffer)))], offset)
		if k == 0 && err != nil {
			return err
		}
		k, err = conn.Write(buffer[:k])
		offset += int64(k)
		took(int64(k))
		if err != nil {
			return err
		}
	}
	return nil
}
