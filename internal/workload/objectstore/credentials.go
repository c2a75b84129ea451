package objectstore

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// metadataTimeout bounds asking a cloud's metadata service; off a cloud nobody
// answers.
const metadataTimeout = 3 * time.Second

// findCredentials looks for credentials in the usual order: the variables of
// AWS and of MinIO, AWS's shared files (AWS_PROFILE), MinIO's, and the role of
// the instance, container or service account, which is asked again before it
// expires. They are kept in this process only.
func findCredentials(getenv func(string) string) (*credentials.Credentials, credentials.Value, error) {
	providers := []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.FileMinioClient{},
	}
	if !strings.EqualFold(getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}})
	}
	creds := credentials.NewChainCredentials(providers)
	v, err := creds.GetWithContext(&credentials.CredContext{Client: &http.Client{Timeout: metadataTimeout}})
	if err != nil || v.SignerType == credentials.SignatureAnonymous || v.AccessKeyID == "" {
		// Why a provider had none is not told: its error may quote a file.
		return nil, v, errors.New("no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE) in the environment of the agent, or give the instance a role")
	}
	return creds, v, nil
}

// scrubbed is an error whose text has lost every credential. It still is what
// the error was.
type scrubbed struct {
	text string
	err  error
}

func (s *scrubbed) Error() string { return s.text }
func (s *scrubbed) Unwrap() error { return s.err }

// scrubText replaces credentials in a text. Servers quote them in errors.
func scrubText(text string, v credentials.Value) string {
	for _, secret := range []string{v.SecretAccessKey, v.SessionToken, v.AccessKeyID} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[credential]")
		}
	}
	return text
}
