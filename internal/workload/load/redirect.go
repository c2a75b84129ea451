package load

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// redirected asks the target once more, for each kind of request, and returns
// an error that says where it sends its clients; nil if it redirects none of
// them. Drivers know the status of an answer only.
func (p *Params) redirected(ctx context.Context, within time.Duration) error {
	requests, err := p.requests()
	if err != nil {
		return err
	}
	target, err := p.standard(requests) //nolint:contextcheck // it connects to nothing yet
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r := target.Redirect(ctx)
	if r == nil {
		return nil
	}
	return fmt.Errorf("%w: %s answers %d and redirects to %s, so only the redirect would be measured: use the URL it redirects to, or accept the redirect with --expect %d, or expect: in requests",
		model.ErrUnavailable, r.From, r.Status, r.To, r.Status)
}
