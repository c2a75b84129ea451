package sqlkv

import (
	"crypto/tls"
	"crypto/x509"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/load"
)

// Trust implements kv.Store.
func (s *Store) Trust(roots *x509.CertPool) bool { return s.trust(roots) }

// trust has connections use TLS, and checks who has signed the certificate, also
// with sslmode=require, as PostgreSQL's own programs do where they have a
// certificate of an authority.
func (s *postgresServer) trust(roots *x509.CertPool) bool {
	if s.config.TLSConfig == nil {
		return false
	}
	check := func(c *tls.Config) {
		c.RootCAs = roots
		if c.InsecureSkipVerify && c.VerifyPeerCertificate == nil {
			c.VerifyConnection = func(state tls.ConnectionState) error { return load.VerifyCertificate(state, roots) }
		}
	}
	check(s.config.TLSConfig)
	s.config.Fallbacks = slices.DeleteFunc(s.config.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.TLSConfig == nil
	})
	for _, f := range s.config.Fallbacks {
		check(f.TLSConfig)
	}
	return true
}

func (s *mysqlServer) trust(roots *x509.CertPool) bool {
	if s.config.TLSConfig == "" || s.config.TLSConfig == "false" {
		return false
	}
	s.config.TLS, s.config.TLSConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ""
	return s.connectors() == nil
}

// connectors makes them of the configuration.
func (s *mysqlServer) connectors() (err error) {
	config := s.config.Clone()
	if s.sessions, err = mysql.NewConnector(config); err != nil {
		return err
	}
	// Batches are written as one statement that is made here, and so is what is
	// executed once.
	config = s.config.Clone()
	config.InterpolateParams = true
	s.others, err = mysql.NewConnector(config)
	return err
}
