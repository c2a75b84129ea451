package redis

import (
	"crypto/x509"

	"github.com/scalebench/scalebench/internal/load/kv"
)

var _ kv.Truster = (*Store)(nil)

// Trust implements kv.Truster.
func (s *Store) Trust(roots *x509.CertPool) bool {
	if s.tls == nil {
		return false
	}
	s.tls.RootCAs = roots
	return true
}
