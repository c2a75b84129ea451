package identity

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handshake connects a client to a server and reports what the client sees.
func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l := must[net.Listener](t)(tls.Listen("tcp", "127.0.0.1:0", server))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte("x")) // the client's side is what is tested
		_ = c.Close()
	}()
	defer func() { _ = l.Close(); <-done }()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Read(make([]byte, 1))
	return err
}

func TestPinnedCertificate(t *testing.T) {
	dir := t.TempDir()
	server, fingerprint, err := ServerTLS(dir)
	check(t, err)
	_, again, err := ServerTLS(dir)
	check(t, err)
	if fingerprint != again || len(fingerprint) != 64 {
		t.Errorf("fingerprints %q and %q", fingerprint, again)
	}
	if info := must[os.FileInfo](t)(os.Stat(filepath.Join(dir, certificateFile))); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o, want 0600", info.Mode().Perm())
	}
	right := must[*tls.Config](t)(ClientTLS(fingerprint))
	check(t, handshake(t, server, right))

	wrong := must[*tls.Config](t)(ClientTLS(strings.Repeat("00", 32)))
	if err := handshake(t, server, wrong); !errors.Is(err, ErrFingerprint) {
		t.Errorf("another fingerprint: %v, want %v", err, ErrFingerprint)
	}
	other, _, err := ServerTLS(t.TempDir())
	check(t, err)
	if err := handshake(t, other, right); !errors.Is(err, ErrFingerprint) {
		t.Errorf("another server: %v, want %v", err, ErrFingerprint)
	}
	old := server.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if err := handshake(t, old, right); err == nil {
		t.Error("TLS 1.2 was accepted")
	}
}

func TestServerTLSRefuses(t *testing.T) {
	dir := t.TempDir()
	_, _, err := ServerTLS(dir)
	check(t, err)
	path := filepath.Join(dir, certificateFile)
	check(t, os.Chmod(path, 0o640))
	if _, _, err := ServerTLS(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	check(t, os.Chmod(path, 0o600))
	check(t, os.WriteFile(path, []byte("x"), 0o600))
	if _, _, err := ServerTLS(dir); err == nil || !strings.Contains(err.Error(), "remove it to get a new one") {
		t.Errorf("a damaged file: %v", err)
	}
}
