package cloudwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/scalebench/scalebench/internal/facts"
	"github.com/scalebench/scalebench/internal/model"
)

const (
	// silence is how long a server may send nothing. The client's own limits are
	// 30 s for a connection, and none for an answer.
	silence = 8 * time.Second
	// attempts and backoff are for throttling, and for connections that are refused.
	attempts = 5
	backoff  = 5 * time.Second
)

// client is one that gives up in seconds. It asks the metadata service of an instance
// only on one: elsewhere nobody answers there, which takes seconds to find out.
func (s Spec) client(ctx context.Context) (*cloudwatch.Client, error) {
	quiet := cmp.Or(s.silence, silence)
	metadata := imds.ClientDisabled
	if facts.OnEC2() {
		metadata = imds.ClientDefaultEnableState
	}
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithRegion(s.Region),
		config.WithEC2IMDSClientEnableState(metadata),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithReadTimeout(quiet).
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = quiet })),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff = attempts, cmp.Or(s.backoff, backoff)
				o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(notTimeout)}, o.Retryables...)
			})
		}))
	if err != nil {
		return nil, model.Usagef("the configuration of AWS cannot be read: %w", err)
	}
	if cfg.Region == "" {
		return nil, model.Usagef("CloudWatch needs a region; give one, or set AWS_REGION")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("%w: there are no credentials for CloudWatch; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY: %w", model.ErrDenied, err)
	}
	return cloudwatch.NewFromConfig(cfg, func(o *cloudwatch.Options) {
		if s.Endpoint != "" {
			o.BaseEndpoint = &s.Endpoint
		}
		if o.BaseEndpoint != nil {
			o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801)
		}
	}), nil
}

// notTimeout refuses to try again after a time-out: a server that is silent once has taken all
// the time there is.
func notTimeout(err error) aws.Ternary {
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// explain gives an error of a call its kind, and says what to do.
func explain(err error) error {
	kind, advice := model.ErrUnavailable, "check region, endpoint and network"
	code := 0
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		code = answer.HTTPStatusCode()
	}
	switch {
	case retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err) == aws.TrueTernary:
		advice = fmt.Sprintf("it throttled %d attempts: an account may make 50 calls and get 180,000 values a second",
			attempts)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		kind, advice = model.ErrDenied, "the credentials need the right cloudwatch:GetMetricData"
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError:
		kind, advice = model.ErrUsage, "check volumes, time and endpoint"
	}
	return fmt.Errorf("%w: CloudWatch gives no data; %s: %w", kind, advice, err)
}
