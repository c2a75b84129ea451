package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Purposes of the two signatures of a join request.
const (
	purposeJoinOuter = "join.token"
	purposeJoinInner = "join.key"
)

// ErrJoin means that a request to join is not what it should be.
var ErrJoin = errors.New("not a valid join request")

// Join is a request to be admitted, as the server reads it: proven by the
// token's key and by the new key.
type Join struct {
	TokenKey string       // public half of the token's key
	Key      string       // the key to admit
	Role     Role         // what it wants to be
	Node     model.NodeID // the agent's node id, or a name for the client
	Asked    time.Time    // when the new key signed the request
}

// joinBody is what the new key signs. It names the token, so that a request
// cannot be reused with another token.
type joinBody struct {
	Token string       `json:"token"`
	Role  Role         `json:"role"`
	Node  model.NodeID `json:"node"`
}

// SealJoin makes the request: the new key signs who it wants to be, the result
// is encrypted from the token's key to the server, and the token's key signs
// that. The token's secret is not part of it.
func SealJoin(tok Token, key *Key, node model.NodeID, now time.Time) ([]byte, error) {
	tokenKey, err := tok.Key()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(joinBody{tokenKey.Public(), tok.Role, node})
	if err != nil {
		return nil, fmt.Errorf("encoding the join request: %w", err)
	}
	inner, err := Seal(key, purposeJoinInner, body, now)
	if err != nil {
		return nil, err
	}
	secret, err := tokenKey.Encrypt(tok.ServerKey, inner)
	if err != nil {
		return nil, err
	}
	return Seal(tokenKey, purposeJoinOuter, secret, now)
}

// OpenJoin verifies a request with the server's key. It does not say whether
// the token is good: [Authority.Redeem] does.
func OpenJoin(server *Key, data []byte) (Join, error) {
	secret, tokenKey, _, err := Open(data, purposeJoinOuter)
	if err != nil {
		return Join{}, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	inner, err := server.Decrypt(tokenKey, secret)
	if err != nil {
		return Join{}, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	payload, key, asked, err := Open(inner, purposeJoinInner)
	if err != nil {
		return Join{}, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	var body joinBody
	if err := json.Unmarshal(payload, &body); err != nil {
		return Join{}, fmt.Errorf("%w: %w", ErrJoin, err)
	}
	if body.Token != tokenKey {
		return Join{}, fmt.Errorf("%w: made for another token", ErrJoin)
	}
	return Join{tokenKey, key, body.Role, body.Node, asked.UTC()}, nil
}
