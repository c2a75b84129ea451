// Package queue carries messages between the master, its agents and its
// clients. It is the only package that knows NATS, and uses requests and
// publishing only: it keeps nothing. What must last is in the store and in
// the agents' journals, and the sender repeats until it is answered.
//
// The way of one task:
//
//  1. [StartServer] runs a NATS server inside the master's process, or
//     [ConnectExternal] uses the user's own cluster. [NewHub] is the master's
//     side of either.
//  2. An agent is admitted with [Join], connects with [DialAgent], which
//     subscribes to its tasks and orders, and says Hello.
//  3. [Hub.Dispatch] sends an assignment, signed by the master and encrypted
//     for the agent. The master repeats it until the agent shows by a
//     Heartbeat, Ready or Result that it has it. [Link.Next] hands it out,
//     verified or as refused; the agent's journal drops repetitions.
//  4. Ready, the start order and Result are requests and broadcasts: they are
//     quick, and repeating them is harmless. The agent repeats the Result until
//     the master says that it is stored.
//
// Two walls stand between the queue and those who reach it. The embedded
// server admits known keys only and gives each the few subjects it needs
// (access.go). And every message, on any server, is in an envelope that its
// reader verifies, and is bounded before it is unpacked (message.go): on a
// foreign cluster this wall stands alone.
package queue
