package postgres

import (
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/internal/model"
)

type target struct {
	config    *pgx.ConnConfig
	where     string // the URL without secrets
	ownSchema bool   // the user named no search_path
}

// secretParams are the parameters of a URL that have secret values.
var secretParams = []string{"password", "sslpassword", "passfile", "sslkey"}

// parseURL reads a URL. What it says about a bad one never quotes the URL: in
// text that cannot be parsed the place of the password is not known.
func parseURL(raw string) (*target, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, model.Usagef("cannot parse the store's URL (not shown, it may hold a password); use " +
			"postgres://user:password@host:port/database?sslmode=require, with special characters in the password written as " +
			"%%XX")
	}
	where := redact(u)
	config, err := pgx.ParseConfig(raw)
	if err != nil {
		return nil, model.Usagef("%s: %s", where, withoutSecrets(u, reason(err)))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	params := config.RuntimeParams
	_, chosen := params["search_path"]
	for key, value := range map[string]string{"application_name": "scalebench", "search_path": ownSchema} {
		if _, ok := params[key]; !ok {
			params[key] = value
		}
	}
	return &target{config: config, where: where, ownSchema: !chosen}, nil
}

// redact returns the URL for messages: without the password and without
// parameters, because some of them are secrets too.
func redact(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil && u.User.Username() != "" {
		clean.User = url.User(u.User.Username())
	}
	if host := u.Query().Get("host"); u.Host == "" && host != "" {
		clean.RawQuery = url.Values{"host": {host}}.Encode()
	}
	return clean.String()
}

// reason returns the end of a parse error of pgx, "cannot parse `URL`: why".
func reason(err error) string {
	msg := err.Error()
	if i := strings.LastIndex(msg, "`: "); i >= 0 {
		return msg[i+len("`: "):]
	}
	return "it cannot be parsed"
}

// withoutSecrets replaces the values of secrets, in every form in which the
// URL may have had them.
func withoutSecrets(u *url.URL, msg string) string {
	var secrets []string
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	for _, p := range secretParams {
		secrets = append(secrets, u.Query()[p]...)
	}
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			msg = strings.ReplaceAll(msg, form, "xxxxx")
		}
	}
	return msg
}
