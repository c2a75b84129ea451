package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// failure is the kind of a failed attempt, as counted.
type failure string

const (
	failTimeout    failure = "timeout"    // no answer in time, by our clock or the server's
	failSlowDown   failure = "slow_down"  // the server asks for fewer requests
	failServer     failure = "server"     // any other 5xx
	failClient     failure = "client"     // any other 4xx: trying again is of no use
	failCorrupt    failure = "corrupt"    // what was got is not what was put
	failConnection failure = "connection" // no connection, or it broke
)

var failures = []failure{failTimeout, failSlowDown, failServer, failClient, failCorrupt, failConnection}

// passing says whether another attempt may succeed.
func (f failure) passing() bool { return f != failClient && f != failCorrupt }

// slowDown are the codes with which servers throttle.
var slowDown = []string{"SlowDown", "Throttl", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "QpsLimitExceeded"}

// kindOf classifies the error of an attempt.
func kindOf(err error) failure {
	var answer minio.ErrorResponse
	var network net.Error
	switch {
	case errors.Is(err, errCorrupt):
		return failCorrupt
	case errors.As(err, &answer) && answer.StatusCode >= 400:
		return kindOfAnswer(answer)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return failTimeout
	}
	return failConnection
}

func kindOfAnswer(a minio.ErrorResponse) failure {
	for _, code := range slowDown {
		if strings.HasPrefix(a.Code, code) {
			return failSlowDown
		}
	}
	switch {
	case a.StatusCode == http.StatusTooManyRequests:
		return failSlowDown
	case a.StatusCode == http.StatusRequestTimeout, a.Code == "RequestTimeout":
		return failTimeout
	case a.StatusCode >= 500:
		return failServer
	}
	return failClient
}

// explain adds to an error what to do about it, where that is known.
func (c *client) explain(err error, bucket string) error {
	if err == nil {
		return nil
	}
	if advice := c.advice(err, bucket); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

func (c *client) advice(err error, bucket string) string {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		return c.adviceOnAnswer(answer, bucket)
	}
	var unknown x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	var refused *net.OpError
	switch {
	case errors.As(err, &unknown):
		return "the server's certificate is of an authority that this node does not know: name the authority's file in ca_file"
	case errors.As(err, &verify):
		return "the server's certificate is not valid for " + c.endpoint + ": correct endpoint, or path_style if the bucket stands in the host name"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS: write http:// in endpoint"
	case errors.As(err, &refused) && refused.Op == "dial":
		return "no connection to " + c.endpoint + ": is this the endpoint, and does the server run?"
	}
	return ""
}

// adviceOnAnswer speaks about the codes that a wrong set-up gives.
func (c *client) adviceOnAnswer(a minio.ErrorResponse, bucket string) string {
	switch a.Code {
	case "NoSuchBucket":
		return fmt.Sprintf("make bucket %q, or set create: true", bucket)
	case "InvalidAccessKeyId", "InvalidAccessKey":
		return "the server does not know this access key: look at AWS_ACCESS_KEY_ID (or the profile or role) of the agent, and at endpoint"
	case "SignatureDoesNotMatch":
		return "the secret key of the agent does not belong to its access key (AWS_SECRET_ACCESS_KEY), or region is wrong"
	case "RequestTimeTooSkewed", "RequestExpired", "AccessDenied.RequestTimeTooSkewed":
		return fmt.Sprintf("this node's clock is %s the server's: set it, by NTP for instance", describeSkew(time.Duration(c.clocks.skew.Load())))
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidRegion", "IllegalLocationConstraintException", "TemporaryRedirect":
		return "the bucket is in another region" + inBrackets(a.Region) + ": set region, and endpoint if it names one"
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken":
		return "the session token of the agent's credentials is not valid any more: renew it and start the agent again"
	case "AccessDenied":
		return fmt.Sprintf("the credentials need the rights to list, put, get and delete objects of bucket %q", bucket)
	case "SecondLevelDomainForbidden":
		return "the server wants the bucket in the host name: set path_style: never"
	}
	return ""
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func describeSkew(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("%v behind", -d.Round(time.Second))
	}
	return fmt.Sprintf("%v ahead of", d.Round(time.Second))
}
