package httpstd

import "context"

// Redirect is an answer that sends the client elsewhere.
type Redirect struct {
	From   string // the URL that was asked
	Status int
	To     string // as the server said it
}

// Redirect sends each request once and follows nothing. It returns the first
// answer that redirects although that status is not expected; nil if there is
// none.
func (t *Target) Redirect(ctx context.Context) *Redirect {
	defer t.transport.CloseIdleConnections()
	for _, p := range t.requests {
		answer, err := t.transport.RoundTrip(p.request(ctx))
		if err != nil {
			continue // no answer redirects nobody
		}
		_ = answer.Body.Close() // it is not read
		to := answer.Header.Get("Location")
		if answer.StatusCode/100 == 3 && to != "" && !p.expect.Match(answer.StatusCode) {
			return &Redirect{From: p.template.URL.String(), Status: answer.StatusCode, To: to}
		}
	}
	return nil
}
