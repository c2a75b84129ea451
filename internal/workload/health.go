package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Times of health checks.
const (
	lookEvery = 100 * time.Millisecond
	lookTime  = 2 * time.Second // of one look
)

// AwaitHealthy waits until all of these services are healthy as this node sees
// them. The error names the first that is not, and what was found.
func AwaitHealthy(ctx context.Context, checks []model.Check, environ []string) error {
	began := time.Now()
	for _, c := range checks {
		if err := Healthy(ctx, c, began, environ); err != nil {
			return err
		}
	}
	return nil
}

// Healthy waits for one service, from a moment on for as long as it says.
func Healthy(ctx context.Context, c model.Check, since time.Time, environ []string) error {
	within := cmp.Or(c.Within, time.Minute)
	ctx, cancel := context.WithDeadline(ctx, since.Add(within))
	defer cancel()
	var last error
	for {
		err := look(ctx, c, environ)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && last != nil { // this look was cut short: the one before says more
			err = last
		}
		last = err
		if Pause(ctx, lookEvery) != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("service %s at %s is not healthy after %s: %w", Instance(c), c.Address, within.Round(time.Millisecond), err)
			}
			return context.Cause(ctx)
		}
	}
}

// Instance names an instance of a service as files do: "db[0]".
func Instance(c model.Check) string { return fmt.Sprintf("%s[%d]", c.Service, c.Index) }

// look looks once whether a service is healthy.
func look(ctx context.Context, c model.Check, environ []string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	switch {
	case c.HTTP != "":
		return lookHTTP(ctx, c.HTTP)
	case c.Command != "":
		return lookCommand(ctx, c, environ)
	case c.Port == 0:
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(c.Address, strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("it does not accept connections on port %d: %w", c.Port, err)
	}
	return conn.Close()
}

func lookHTTP(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	// A connection of its own: one that is kept would be one more in what is
	// measured.
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		// A redirect is an answer. Where it leads to may not be reached from here.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return err // it names the address
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	err = errors.Join(err, answer.Body.Close())
	if answer.StatusCode < 200 || answer.StatusCode > 399 {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return err
}

func lookCommand(ctx context.Context, c model.Check, environ []string) error {
	cmd := Shell(ctx, c.Command)
	cmd.Env = append(environ[:len(environ):len(environ)], "SCALEBENCH_ADDRESS="+c.Address)
	cmd.WaitDelay = lookEvery
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("its check ends with %w: %s", err, strings.TrimSpace(LastLine(string(out))))
	}
	return nil
}
