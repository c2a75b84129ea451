package kv

import (
	"crypto/x509"
	"fmt"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Truster is a [Store] that may speak TLS. Trust has it trust these authorities
// alone; false where the store is not spoken to over TLS.
type Truster interface {
	Trust(roots *x509.CertPool) bool
}

// Trusting has a store trust further authorities, if there are any. secure says
// how its URL asks for TLS. The error is model.ErrUsage.
func Trusting(s Store, t load.Trust, secure string) error {
	roots, err := t.Roots()
	if err != nil || roots == nil {
		return err
	}
	if x, ok := s.(Truster); !ok || !x.Trust(roots) {
		return fmt.Errorf("%w: certificates to trust (--cacert, ca_pem:) only apply over TLS: use %s", model.ErrUsage,
			secure)
	}
	return nil
}
