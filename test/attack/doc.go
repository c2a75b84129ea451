// Package attack attacks the real product: a server process with its agents, on
// its embedded queue and on a nats-server of the user's. The attackers hold keys:
// an agent's, a client's, a token's, a revoked one; or all rights on the
// user's cluster. What they must not reach, docs/security.md says.
package attack
