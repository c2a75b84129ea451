package queue

import (
	"context"
	"encoding/json"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Caller is an authenticated client.
type Caller struct {
	Key  string
	Role identity.Role
	Name string // that it chose when it joined
}

// Handlers are what the master does with messages. They are called from
// several goroutines. Messages of one node come in order within three queues
// that do not wait for each other, so that a store that is slow does not make
// a node look dead: Result and Chunk; Hello and Goodbye; all else. A Heartbeat
// that was sent after a Hello can so be handled before it; an agent says
// nothing of a new session before its Hello is answered. The sender is
// verified, and its node is the message's. Every context ends with the hub.
type Handlers struct {
	Hello     func(context.Context, wire.Hello) (wire.HelloReply, error)
	Heartbeat func(wire.Heartbeat)
	Ready     func(context.Context, wire.Ready) (wire.ReadyReply, error)
	Result    func(context.Context, model.Result) wire.ResultReply
	Chunk     func(context.Context, wire.Chunk) error
	Progress  func(wire.Progress)
	Report    func(wire.Report)
	Missing   func(wire.Missing)
	Readings  func(wire.Readings)
	Goodbye   func(context.Context, wire.Goodbye)
	// Cut, if it is set, is told of a sender that was cut off: who, and why in
	// words.
	Cut func(identity.Grant, string)
	// API answers a client's call. Request and reply may have any size. Calls
	// run at the same time, also those of one client.
	API func(ctx context.Context, caller Caller, verb string, body []byte) ([]byte, error)
}

func (hs Handlers) call(ctx context.Context, r *request) ([]byte, error) {
	verb, body, err := parseCall(r.body)
	if err != nil {
		return nil, err
	}
	return hs.API(ctx, Caller{Key: r.sender, Role: r.grant.Role, Name: string(r.grant.Node)}, verb, body)
}

// handler makes an answerer of a function for one type of message. The message
// must be about the node that sent it.
func handler[M wire.FromNode, R any](decode func([]byte) (M, error), f func(context.Context, M) (R, error)) answerer {
	return func(ctx context.Context, r *request) ([]byte, error) {
		m, err := decode(r.body)
		r.body, r.frame.body = nil, nil // the message may be large, and is not needed twice
		switch {
		case err != nil:
			return nil, err
		case wire.From(m) != r.grant.Node:
			return nil, errForeign
		}
		if hello, ok := any(&m).(*wire.Hello); ok {
			hello.Node.PublicKey = r.sender // whatever it says
		}
		reply, err := f(ctx, m)
		if err != nil {
			return nil, err
		}
		return json.Marshal(reply)
	}
}

// none is the reply where there is nothing to say.
type none = struct{}

// listener makes an answerer of a function that has nothing to reply.
func listener[M wire.FromNode](f func(M)) answerer {
	return handler(wire.Decode, func(_ context.Context, m M) (none, error) {
		f(m)
		return none{}, nil
	})
}

// decodeResult decodes a result. One that breaks the contract arrives as a
// failed one that says so, for its agent would offer it again without end.
func decodeResult(data []byte) (wire.Result, error) {
	m, err := wire.Decode[wire.Result](data)
	if err == nil {
		return m, nil
	}
	bare := unusable(m.Result, err)
	if wire.Check(bare) != nil {
		return m, model.Usagef("%w", err)
	}
	return bare, nil
}
