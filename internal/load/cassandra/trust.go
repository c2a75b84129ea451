package cassandra

import (
	"crypto/x509"

	"github.com/scalebench/scalebench/internal/load/kv"
)

var _ kv.Truster = (*Store)(nil)

// Trust implements kv.Truster.
func (s *Store) Trust(roots *x509.CertPool) bool {
	s.options.roots = roots
	return s.options.tls
}
