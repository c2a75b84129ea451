package prometheus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	patience = 60 * time.Second // for an answer of all series of an hour
	maxBytes = 1 << 30          // of one
)

// client asks one server.
type client struct {
	http  http.Client
	url   *url.URL
	token string
}

func (s Spec) client() (*client, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, model.Usagef("the address of Prometheus is not a URL; write it as in http://prometheus:9090")
	}
	return &client{http.Client{Timeout: cmp.Or(s.patience, patience)}, u.JoinPath("api/v1/query"), s.Token}, nil
}

// read returns the raw samples from one time to another, both included, by labels.
func (c *client) read(ctx context.Context, selector string, from, to time.Time) (map[string]*series, error) {
	all := make(map[string]*series)
	for begin := from; begin.Before(to); begin = begin.Add(window) {
		end := begin.Add(window)
		if to.Before(end) {
			end = to
		}
		answer, err := c.query(ctx, selector, begin, end)
		if err != nil {
			return nil, err
		}
		for _, one := range answer {
			one.join(all, from.UnixMilli())
		}
	}
	return all, nil
}

func (c *client) query(ctx context.Context, selector string, from, to time.Time) ([]series, error) {
	// A range is without its left end from version 3 on.
	ms := to.Sub(from).Milliseconds() + 1
	u := *c.url
	u.RawQuery = url.Values{
		"query": {fmt.Sprintf("{%s}[%dms]", selector, ms)},
		"time":  {strconv.FormatFloat(float64(to.UnixMilli())/1e3, 'f', 3, 64)},
	}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, model.Unavailablef("Prometheus cannot be reached; check URL and network: %w", unwrapURL(err))
	}
	defer func() { _ = response.Body.Close() }() // all that counts is read
	return c.answer(response)
}

// unwrapURL leaves out the query, which is long.
func unwrapURL(err error) error {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // Do returns it unwrapped
		return u.Err
	}
	return err
}

func (c *client) answer(response *http.Response) ([]series, error) {
	at := strings.TrimSuffix(c.url.Redacted(), "/api/v1/query")
	if code := response.StatusCode; code == http.StatusUnauthorized || code == http.StatusForbidden {
		return nil, fmt.Errorf("%w: Prometheus at %s refused the call (%s); give user:password@ in the URL, or a token", model.ErrDenied, at, response.Status)
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		if response.StatusCode >= http.StatusInternalServerError {
			return nil, model.Unavailablef("Prometheus at %s has an error: %s", at, response.Status)
		}
		return nil, model.Usagef("%s does not answer as Prometheus does (%s, %s); give the URL below which api/v1/query is",
			at, response.Status, cmp.Or(kind, "no type"))
	}
	var in struct {
		Status, Error, ErrorType string
		Warnings                 []string
		Data                     struct {
			ResultType string
			Result     []series
		}
	}
	body := &io.LimitedReader{R: response.Body, N: maxBytes}
	if err := json.NewDecoder(body).Decode(&in); err != nil {
		if body.N <= 0 {
			return nil, model.Usagef("the answer of Prometheus has more than %d bytes an hour; narrow the match to fewer nodes", maxBytes)
		}
		return nil, model.Unavailablef("the answer of Prometheus at %s cannot be read: %w", at, err)
	}
	switch {
	case in.ErrorType == "bad_data":
		return nil, model.Usagef("Prometheus refuses the query; check match: %s", in.Error)
	case in.Status != "success":
		return nil, model.Unavailablef("Prometheus at %s has an error: %s: %s", at, in.ErrorType, in.Error)
	case len(in.Warnings) > 0:
		return nil, model.Unavailablef("Prometheus at %s may have answered a part only: %s", at, strings.Join(in.Warnings, "; "))
	case in.Data.ResultType != "matrix":
		return nil, model.Usagef("%s answered a %q instead of a matrix; is it Prometheus?", at, in.Data.ResultType)
	}
	return in.Data.Result, nil
}
