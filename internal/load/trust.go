package load

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// VerifyCertificate checks a server's certificate as package crypto/tls does, for
// any of some names. The error is that for the first; without names, only who has
// signed it is checked.
func VerifyCertificate(s tls.ConnectionState, roots *x509.CertPool, names ...string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server has shown no certificate")
	}
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if len(names) == 0 {
		names = []string{""}
	}
	var first error
	for _, name := range names {
		o.DNSName = name
		_, err := s.PeerCertificates[0].Verify(o)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: first}
}
