package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	patience = time.Minute // for an answer of all series of an hour
	maxBytes = 1 << 30     // of one
)

// client asks one server.
type client struct {
	http  http.Client
	url   *url.URL
	token string
}

// answer is that of Prometheus, of which a failed one has ErrorType and Error.
type answer struct {
	Error, ErrorType string
	Warnings         []string
	Data             struct {
		ResultType string
		Result     []series
	}
}

// series has times in Unix s, and values as text.
type series struct {
	Metric map[string]string
	Values [][2]json.Number
}

// samples are the raw ones of a time that ends at end. One at its very begin may be among them.
func (c *client) samples(ctx context.Context, selector string, end time.Time, length time.Duration) ([]series, error) {
	u := *c.url.JoinPath("api/v1/query")
	u.RawQuery = url.Values{
		"query": {fmt.Sprintf("%s[%dms]", selector, max(length.Milliseconds(), 1))},
		"time":  {strconv.FormatFloat(seconds(end), 'f', 3, 64)},
	}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, model.Unavailablef("Prometheus at %s cannot be reached: %w", c.url.Redacted(), failed.Err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // all that counts is read
	var a answer
	err = json.NewDecoder(io.LimitReader(response.Body, maxBytes)).Decode(&a)
	return a.Data.Result, c.problem(response, &a, err)
}

// problem is why an answer is not used; nil: it is whole.
func (c *client) problem(response *http.Response, a *answer, unreadable error) error {
	kind, why := model.ErrUnavailable, a.Error
	switch {
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		kind, why = model.ErrDenied, "give user:password@ in the URL, or a token"
	case a.ErrorType == "bad_data":
		kind, why = model.ErrUsage, "check match: "+why
	case a.ErrorType != "":
	case unreadable != nil && response.StatusCode < http.StatusInternalServerError:
		kind = model.ErrUsage
		why = fmt.Sprintf("this is no JSON of Prometheus (%v); give the URL below which api/v1/query is", unreadable)
	case unreadable != nil:
		why = unreadable.Error()
	case len(a.Warnings) > 0:
		why = "it may be a part only: " + strings.Join(a.Warnings, "; ")
	case a.Data.ResultType != "matrix":
		kind, why = model.ErrUsage, fmt.Sprintf("there is a %q instead of a matrix; is it Prometheus?", a.Data.ResultType)
	default:
		return nil
	}
	return fmt.Errorf("%w: the answer of Prometheus at %s (%s) cannot be used: %s",
		kind, c.url.Redacted(), response.Status, why)
}
