// Package identity says who is who: keys, signed envelopes, encryption
// between two keys, join tokens, and the server's list of admitted keys.
// It neither listens nor connects; package queue carries what is made here.
//
// The way of one agent's identity:
//
//  1. The server has a [Key] and an [Authority]. The authority makes a
//     [Token], which a person carries to the agent's host.
//  2. The agent makes its own [Key]; the secret half never leaves the host.
//  3. It signs a [Join] with its key and with the token's, encrypts it for the
//     server key that the token names, and sends it.
//  4. The authority redeems the token once per allowed use and remembers the
//     agent's public key as a [Grant].
//  5. From then on every message in both directions travels in an envelope
//     ([Seal], [Open]) that binds payload, signer, time and purpose.
//
// Keys are Ed25519 in the nkey encoding of NATS ("U…" for agents and clients,
// "N…" for the server; secrets begin with "S"). Encryption between two keys
// is NaCl box on the Curve25519 form of the same keys, so that knowing
// a public key is enough to write to its holder (envelope.go).
//
// The threat model is docs/security.md.
package identity
