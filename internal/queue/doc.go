// Package queue carries messages between the master, its agents and its
// clients. It is the only package that knows NATS.
//
// The way of one task:
//
//  1. [StartServer] runs a JetStream server inside the master's process, or
//     [ConnectExternal] uses the user's own cluster. [NewHub] is the master's
//     side of either.
//  2. An agent is admitted with [Join], connects with [DialAgent] and says
//     Hello; the master calls [Hub.EnsureNode], which gives the node a durable
//     consumer.
//  3. [Hub.Dispatch] stores an assignment in the stream, signed by the master
//     and encrypted for the agent. [Link.Next] hands it out once verified, or
//     as refused.
//  4. Ready, the start order and Result are requests and broadcasts outside
//     of the stream: they are quick, and repeating them is harmless.
//  5. The agent acknowledges the task ([Delivery.Ack]) when its result is
//     stored. Until then the queue keeps it and delivers it again.
//
// Two walls stand between the queue and whoever reaches it. The embedded
// server admits known keys only and gives each the few subjects it needs
// (auth.go). And every message, on any server, is in an envelope that its
// reader verifies (secure.go): on a foreign cluster this wall stands alone.
package queue
