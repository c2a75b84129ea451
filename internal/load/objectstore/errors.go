package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scalebench/scalebench/internal/load"
)

// Failure is the kind of a failed attempt, as counted.
type Failure string

const (
	failTimeout    Failure = "timeout"    // no answer in time, by our clock or the server's
	failSlowDown   Failure = "slow_down"  // the server asks for fewer requests
	failServer     Failure = "server"     // any other 5xx
	failClient     Failure = "client"     // any other 4xx: trying again is of no use
	failCorrupt    Failure = "corrupt"    // what was got is not what was put
	failConnection Failure = "connection" // no connection, or it broke
)

// Failures are all of them.
var Failures = []Failure{failTimeout, failSlowDown, failServer, failClient, failCorrupt, failConnection}

// ofEngine is the kind that the engine counts it as.
var ofEngine = map[Failure]load.Kind{failTimeout: load.ErrTimeout, failConnection: load.ErrClosed, failCorrupt: load.ErrWrong, failSlowDown: load.ErrStatus, failServer: load.ErrStatus, failClient: load.ErrStatus}

// passing says whether another attempt may succeed.
func (f Failure) passing() bool { return f != failClient && f != failCorrupt }

// slowDown are the codes with which servers throttle.
var slowDown = []string{"SlowDown", "Throttl", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "QpsLimitExceeded"}

// kindOf classifies the error of an attempt.
func kindOf(err error) Failure {
	var answer minio.ErrorResponse
	var network net.Error
	switch answered := errors.As(err, &answer) && answer.StatusCode >= 400; {
	case errors.Is(err, errCorrupt):
		return failCorrupt
	case answered && (answer.StatusCode == http.StatusTooManyRequests || slices.ContainsFunc(slowDown, func(code string) bool { return strings.HasPrefix(answer.Code, code) })):
		return failSlowDown
	case answered && (answer.StatusCode == http.StatusRequestTimeout || answer.Code == "RequestTimeout"):
		return failTimeout
	case answered && answer.StatusCode >= 500:
		return failServer
	case answered:
		return failClient
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return failTimeout
	}
	return failConnection
}

// advice says what to do about an error, where that is known.
func (c *connection) advice(err error, bucket string) string {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		return c.adviceOnAnswer(answer, bucket)
	}
	var unknown x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	var refused *net.OpError
	switch {
	case errors.As(err, &unknown):
		return "this node does not know the authority of the server's certificate: give its file in ca_file (ca, for a load)"
	case errors.As(err, &verify):
		return "the server's certificate is not valid for " + c.endpoint + ": correct endpoint, or path_style if the bucket is in the host name"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS: write http:// in endpoint"
	case errors.As(err, &refused) && refused.Op == "dial":
		return "no connection to " + c.endpoint + ": check the endpoint and that the server is running"
	}
	return ""
}

// adviceOnAnswer speaks about the codes that a wrong set-up gives.
func (c *connection) adviceOnAnswer(a minio.ErrorResponse, bucket string) string {
	switch a.Code {
	case "NoSuchBucket":
		return fmt.Sprintf("create bucket %q, or set create: true (workload objectstore)", bucket)
	case "InvalidAccessKeyId", "InvalidAccessKey":
		return "the server does not know this access key: check AWS_ACCESS_KEY_ID (or the profile or role) of the agent, and endpoint"
	case "SignatureDoesNotMatch":
		return "the secret key of the agent does not belong to its access key (AWS_SECRET_ACCESS_KEY), or region is wrong"
	case "RequestTimeTooSkewed", "RequestExpired", "AccessDenied.RequestTimeTooSkewed":
		skew, to := time.Duration(c.skew.Load()).Round(time.Second), "ahead of"
		if skew < 0 {
			skew, to = -skew, "behind"
		}
		return fmt.Sprintf("this node's clock is %v %s the server's: set it, for example by NTP", skew, to)
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidRegion", "IllegalLocationConstraintException", "TemporaryRedirect":
		return strings.Replace(fmt.Sprintf("the bucket is in another region (%s): set region, and endpoint if it names one", a.Region), " ()", "", 1)
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken":
		return "the session token of the agent's credentials has expired: renew it and restart the agent"
	case "AccessDenied":
		return fmt.Sprintf("the credentials need the rights to list, put, get and delete objects of bucket %q", bucket)
	case "SecondLevelDomainForbidden":
		return "the server requires the bucket in the host name: set path_style: never"
	}
	return ""
}
