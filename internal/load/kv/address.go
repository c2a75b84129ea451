package kv

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Address is the URL of a data store, for packages that implement [Store]. Its
// secrets appear in nothing that it says.
type Address struct{ url *url.URL }

// ParseAddress reads a URL of one of these schemes. The error is
// model.ErrUsage; it shows the example and never the URL, for in text that
// cannot be parsed nobody knows where the password is.
func ParseAddress(raw, example string, schemes ...string) (Address, error) {
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" {
		return Address{}, fmt.Errorf("%w: the URL of the data store is not understood (not quoted here, it may hold a password); want %s, with special characters in the password written as %%XX",
			model.ErrUsage, example)
	}
	return Address{u}, nil
}

// URL returns the URL with its secrets.
func (a Address) URL() *url.URL { return a.url }

// Password returns the password, "" if there is none.
func (a Address) Password() string {
	password, _ := a.url.User.Password()
	return password
}

// String is the URL without the password and without parameters, some of which
// may be secrets too; only a host and a socket are shown.
func (a Address) String() string {
	clean := url.URL{Scheme: a.url.Scheme, Host: a.url.Host, Path: a.url.Path}
	if name := a.url.User.Username(); name != "" {
		clean.User = url.User(name)
	}
	shown := url.Values{}
	for _, p := range []string{"host", "socket"} {
		if v := a.url.Query().Get(p); v != "" {
			shown.Set(p, v)
		}
	}
	clean.RawQuery = shown.Encode()
	return clean.String()
}

// secretParams are parts of names of parameters whose values are secrets.
var secretParams = []string{"pass", "key", "secret", "token"}

// Hide returns an error that says the same without the secrets, in whatever
// form of them the URL or a library has used.
func (a Address) Hide(err error) error {
	if err == nil {
		return nil
	}
	msg := err.Error()
	for _, secret := range a.secrets() {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			msg = strings.ReplaceAll(msg, form, "xxxxx")
		}
	}
	if msg == err.Error() {
		return err
	}
	return &hidden{msg: msg, err: err}
}

// secrets lists the values that must not be shown, the longest first, so that
// none is left over that has another one inside.
func (a Address) secrets() []string {
	secrets := []string{a.Password()}
	for name, values := range a.url.Query() {
		for _, part := range secretParams {
			if strings.Contains(strings.ToLower(name), part) {
				secrets = append(secrets, values...)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(x, y string) int { return len(y) - len(x) })
	return secrets
}

// hidden is an error whose text was changed.
type hidden struct {
	msg string
	err error
}

func (h *hidden) Error() string { return h.msg }
func (h *hidden) Unwrap() error { return h.err }
