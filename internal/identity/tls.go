package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// ErrFingerprint means that the server shows another certificate than the one
// that the token names.
var ErrFingerprint = errors.New("the server's certificate does not match the join token")

// certificateFile holds certificate and private key, in the data directory.
const certificateFile = "tls.pem"

// ServerTLS loads the server's certificate from dir, or makes a self-signed
// one, and returns a TLS 1.3 configuration and the certificate's fingerprint
// (SHA-256 of its DER form, 64 hexadecimal digits). Clients trust the
// fingerprint and not the names in the certificate.
func ServerTLS(dir string) (conf *tls.Config, fingerprint string, err error) {
	path := filepath.Join(dir, certificateFile)
	if err := privateDir(dir); err != nil {
		return nil, "", fmt.Errorf("TLS certificate: %w", err)
	}
	data, err := readPrivate(path)
	if errors.Is(err, os.ErrNotExist) {
		data, err = createCertificate(path)
	}
	if err != nil {
		return nil, "", fmt.Errorf("TLS certificate %s: %w", path, err)
	}
	cert, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, "", fmt.Errorf("TLS certificate %s: %w; remove it to get a new one (agents must then join again)", path, err)
	}
	conf = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	return conf, fingerprintOf(cert.Certificate[0]), nil
}

// ClientTLS returns a TLS 1.3 configuration that accepts exactly the
// certificate with this fingerprint, whatever name it carries.
func ClientTLS(fingerprint string) (*tls.Config, error) {
	if raw, err := hex.DecodeString(fingerprint); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("certificate fingerprint %.16q: must be %d hexadecimal digits", fingerprint, 2*sha256.Size)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The chain and the names prove nothing about a self-signed
		// certificate; VerifyConnection compares the whole certificate.
		InsecureSkipVerify: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 {
				return fmt.Errorf("%w: the server sent no certificate", ErrFingerprint)
			}
			got := fingerprintOf(cs.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare([]byte(got), []byte(fingerprint)) != 1 {
				return fmt.Errorf("%w (its fingerprint is %.16s…, the token's %.16s…): another server answers at this address, or the server got a new certificate; ask for a new token and join again", ErrFingerprint, got, fingerprint)
			}
			return nil
		},
	}, nil
}

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// createCertificate writes a new certificate with its key, both PEM. It is valid
// for thirty years and from a day ago: trust comes from the fingerprint, and
// hosts' clocks differ.
func createCertificate(path string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "scalebench"},
		DNSNames:     []string{"scalebench"},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.AddDate(30, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	data = append(data, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)
	return data, WritePrivate(path, data)
}
