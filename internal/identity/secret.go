package identity

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what is printed in place of a secret.
const redacted = "[secret]"

// Secret is text that must not be printed by accident: every verb of fmt, slog
// and every text encoding show "[secret]". The text stands behind a pointer,
// because fmt does not ask the Format method of values in unexported fields:
// it prints the address then.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text; "" for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter for every verb, %#v and %q included.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted) // fmt has no way to report it
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, and so covers encoding/json
// and slog's JSON handler, which does not ask fields for their LogValue.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
