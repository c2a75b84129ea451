package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// request is a verified message of an agent or client.
type request struct {
	data   []byte // as it came, to bind the reply to it
	reply  string // subject, "" if the sender expects none
	kind   string
	sender string // public key
	grant  identity.Grant
	issued time.Time
	body   []byte
}

// answerer handles the requests of one kind.
type answerer func(context.Context, request) ([]byte, error)

// route is where the messages of a subject go.
type route struct {
	subject string
	handler nats.MsgHandler
}

// Serve starts receiving and returns; messages arrive until Close.
func (h *Hub) Serve(hs Handlers) error {
	if err := h.receiveInOrder(h.lifeRoutes(hs)); err != nil {
		return fmt.Errorf("listening on the queue: %w", err)
	}
	for _, r := range []route{
		{h.names.anyAgent(kindResult), h.agent(kindResult, result(hs))},
		{h.names.anyAgent(kindChunk), h.agent(kindChunk, chunk(hs))},
		{h.names.anyAgent(kindPart), h.agent(kindPart, h.upload)},
		{h.names.anyAgent(kindFetch), h.agent(kindFetch, h.fetch)},
		{h.names.anyAgent(kindClock), h.clock},
		{h.names.anyClient(kindCall), h.client(kindCall, h.api(hs))},
		{h.names.anyClient(kindPart), h.client(kindPart, h.upload)},
		{h.names.anyClient(kindFetch), h.client(kindFetch, h.fetch)},
		{h.names.anyClient(kindWatch), h.client(kindWatch, h.watch)},
		{h.names.join(), h.join},
	} {
		sub, err := h.nc.Subscribe(r.subject, r.handler)
		if err != nil {
			return fmt.Errorf("listening on the queue: %w", err)
		}
		h.keep(sub)
	}
	return h.nc.Flush()
}

// lifeRoutes are the messages of which it matters in which order a node sent
// them, also where they are of different kinds.
func (h *Hub) lifeRoutes(hs Handlers) []route {
	return []route{
		{h.names.anyAgent(kindHello), h.agent(kindHello, h.hello(hs))},
		{h.names.anyAgent(kindHeartbeat), h.agent(kindHeartbeat, note(hs.Heartbeat, func(m wire.Heartbeat) model.NodeID { return m.Node }))},
		{h.names.anyAgent(kindReady), h.agent(kindReady, ready(hs))},
		{h.names.anyAgent(kindProgress), h.agent(kindProgress, note(hs.Progress, func(m wire.Progress) model.NodeID { return m.Node }))},
		{h.names.anyAgent(kindReport), h.agent(kindReport, note(reporter(hs.Report), func(m wire.Report) model.NodeID { return m.Node }))},
		{h.names.anyAgent(kindGoodbye), h.agent(kindGoodbye, note(hs.Goodbye, func(m wire.Goodbye) model.NodeID { return m.Node }))},
	}
}

// maxReceived is how many messages wait to be sorted into lanes, which takes
// microseconds each. What does not fit is lost, as on the way; its sender
// repeats it.
const maxReceived = 1 << 15

// receiveInOrder receives several subjects through one channel. Subscriptions
// with handlers of their own would each deliver at its own pace, so that a
// heartbeat could overtake a hello, and the hello be taken for a replay.
func (h *Hub) receiveInOrder(routes []route) error {
	received := make(chan *nats.Msg, maxReceived)
	handlers := make(map[*nats.Subscription]nats.MsgHandler, len(routes))
	for _, r := range routes {
		sub, err := h.nc.ChanSubscribe(r.subject, received)
		if err != nil {
			return err
		}
		h.keep(sub)
		handlers[sub] = r.handler
	}
	h.sorting.Go(func() {
		for {
			select {
			case <-h.ctx.Done():
				return
			case m := <-received:
				handlers[m.Sub](m)
			}
		}
	})
	return nil
}

// keep remembers a subscription for Close.
func (h *Hub) keep(sub *nats.Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, sub)
}

// The lanes of a node. What may wait for the store has lanes of its own:
// deliveries, and coming and going.
const (
	laneControl  = ".control"
	laneBulk     = ".bulk"
	lanePresence = ".presence"
)

// agent receives one kind of message from agents, in the node's lane.
func (h *Hub) agent(kind string, f answerer) nats.MsgHandler {
	lane, limit, handle := laneControl, maxLane, h.handle
	switch kind {
	case kindResult, kindChunk, kindPart:
		lane, limit = laneBulk, maxBulkLane
	case kindHello, kindGoodbye:
		handle = h.handleApart
	}
	return func(m *nats.Msg) {
		node := tokenAt(m.Subject, senderToken)
		if !h.lanes.do(node+lane, limit, func() { handle(m, fromAgent, kind, f) }) {
			h.refused(m, errTooMany)
		}
	}
}

// handleApart verifies a message in the lane in which it came, so that it is
// judged new or replayed in the order of arrival, and handles it in the lane
// of coming and going.
func (h *Hub) handleApart(m *nats.Msg, from, kind string, f answerer) {
	r, frame, ok := h.admit(m, from, kind)
	if !ok {
		return
	}
	lane := tokenAt(m.Subject, senderToken) + lanePresence
	if !h.lanes.do(lane, maxPresenceLane, func() { h.respond(r, frame, f) }) {
		h.refused(m, errTooMany)
	}
}

// client receives one kind of message from clients; every message is a lane of
// its own, and there are maxCalls of them.
func (h *Hub) client(kind string, f answerer) nats.MsgHandler {
	return func(m *nats.Msg) {
		select {
		case h.calls <- struct{}{}:
		case <-h.ctx.Done():
			return
		}
		run := func() {
			defer func() { <-h.calls }()
			h.handle(m, fromClient, kind, f)
		}
		if !h.lanes.do("call."+nats.NewInbox(), 1, run) {
			<-h.calls
		}
	}
}

// handle verifies a message, lets f answer and sends the answer.
func (h *Hub) handle(m *nats.Msg, from, kind string, f answerer) {
	if r, frame, ok := h.admit(m, from, kind); ok {
		h.respond(r, frame, f)
	}
}

// admit verifies a message; it tells the sender why if that fails.
func (h *Hub) admit(m *nats.Msg, from, kind string) (request, frame, bool) {
	r, fr, err := h.open(m, from, kind)
	if err != nil {
		h.refused(m, err)
		if r.sender != "" {
			h.answer(r, errorFrame(err))
		}
		return r, fr, false
	}
	if floor, ok := h.isFresh(r); !ok {
		h.refused(m, errReplay)
		h.answer(r, replayFrame(floor))
		return r, fr, false
	}
	return r, fr, true
}

// respond lets f answer a verified message and sends the answer.
func (h *Hub) respond(r request, fr frame, f answerer) {
	body, err := h.run(r, fr, f)
	if err != nil {
		h.answer(r, errorFrame(err))
		return
	}
	h.answerBody(r, body)
}

func (h *Hub) run(r request, f frame, do answerer) ([]byte, error) {
	switch f.kind {
	case frameBody:
		r.body = f.body
	case frameParts:
		body, err := h.parts.take(r.sender, f.id)
		if err != nil {
			return nil, err
		}
		r.body = body
	default:
		return nil, errFrame
	}
	return do(h.ctx, r)
}

var (
	errTooMany = errors.New("too many messages at a time")
	errReplay  = errors.New("not newer than the sender's last message: replayed")
	errForeign = errors.New("the message names another sender than the one who signed it")
)

// open verifies a message. The request is set as far as it is known to be
// true: a sender that is set has signed the message, admitted or not.
func (h *Hub) open(m *nats.Msg, from, kind string) (request, frame, error) {
	r := request{data: m.Data, reply: m.Reply, kind: kind}
	secret, signer, issued, err := identity.Open(m.Data, from+kind)
	if err != nil {
		return r, frame{}, err
	}
	r.sender, r.issued = signer, issued
	grant, ok := h.auth.Admitted(signer)
	if !ok {
		return r, frame{}, fmt.Errorf("%w: the server does not admit this key (never admitted, or revoked); join with a new token", model.ErrDenied)
	}
	r.grant = grant
	h.heard.note(grant, h.opt.Now())
	if err := checkSubject(m.Subject, from, grant); err != nil {
		return r, frame{}, err
	}
	plain, err := decrypt(h.key, signer, secret)
	if err != nil {
		return r, frame{}, err
	}
	f, err := parseFrame(plain)
	return r, f, err
}

// checkSubject holds the sender to its own subjects, for on an external queue
// nobody else does.
func checkSubject(subject, from string, g identity.Grant) error {
	want := g.Key
	role := identity.RoleClient
	if from == fromAgent {
		want, role = token(g.Node), identity.RoleAgent
	}
	if g.Role != role || tokenAt(subject, senderToken) != want {
		return fmt.Errorf("%w: %s %q may not send on %s", model.ErrDenied, g.Role, g.Node, subject)
	}
	return nil
}

func (h *Hub) isFresh(r request) (time.Time, bool) {
	switch r.kind {
	case kindHello, kindHeartbeat, kindReady, kindGoodbye:
		return h.fresh.accept(r.sender, r.issued)
	}
	return time.Time{}, true
}

// refused logs a message that was not accepted; the text names no payload.
func (h *Hub) refused(m *nats.Msg, err error) {
	h.warn.Do(func() { h.opt.Log.Warn("message refused", "subject", m.Subject, "error", err) })
}

// answer sends a reply frame, signed, encrypted for the sender and bound to
// the request. A reply that cannot be sent is a reply that was lost: the
// sender asks again.
func (h *Hub) answer(r request, frame []byte) {
	if err := h.tryAnswer(r, frame); err != nil && h.ctx.Err() == nil {
		h.opt.Log.Warn("reply not sent", "kind", r.kind, "node", r.grant.Node, "error", err)
	}
}

func (h *Hub) tryAnswer(r request, frame []byte) error {
	if !h.names.isInbox(r.reply, r.grant.Key) {
		return nil
	}
	data, err := sealFor(h.key, r.sender, replyPurpose(r.data), frame, h.stamp.next())
	if err != nil {
		return err
	}
	return h.nc.Publish(r.reply, data)
}

// answerBody sends a reply of any size: too large for one message, it is kept
// and the sender fetches it in parts.
func (h *Hub) answerBody(r request, body []byte) {
	err := h.tryAnswer(r, bodyFrame(body))
	if errors.Is(err, nats.ErrMaxPayload) {
		err = h.answerParts(r, body)
	}
	if err != nil && h.ctx.Err() == nil {
		h.answer(r, errorFrame(err))
	}
}

func (h *Hub) answerParts(r request, body []byte) error {
	if len(body) > maxMessage {
		return errTooLarge
	}
	id, err := newID()
	if err != nil {
		return err
	}
	pieces := split(body, partSize(h.nc.MaxPayload()))
	if err := h.replies.offer(r.sender, id, pieces); err != nil {
		return err
	}
	return h.tryAnswer(r, partsFrame(id, len(pieces)))
}

func (h *Hub) upload(_ context.Context, r request) ([]byte, error) {
	p, err := parsePart(r.body)
	if err != nil {
		return nil, err
	}
	return nil, h.parts.put(r.sender, p)
}

func (h *Hub) fetch(_ context.Context, r request) ([]byte, error) {
	p, err := parsePart(r.body)
	if err != nil {
		return nil, err
	}
	return h.replies.get(r.sender, p)
}

var errNoHandler = fmt.Errorf("%w: the server does not handle this yet", model.ErrUnavailable)

// decodeOwn decodes a message and checks that it speaks of its sender.
func decodeOwn[T wire.Message](r request, node func(T) model.NodeID) (T, error) {
	m, err := wire.Decode[T](r.body)
	if err == nil && node(m) != r.grant.Node {
		err = fmt.Errorf("%w: %w", model.ErrDenied, errForeign)
	}
	return m, err
}

// note makes an answerer for messages without a reply.
func note[T wire.Message](f func(T), node func(T) model.NodeID) answerer {
	return func(_ context.Context, r request) ([]byte, error) {
		m, err := decodeOwn(r, node)
		if err == nil && f != nil {
			f(m)
		}
		return nil, err
	}
}

// reporter sees to it that a node reports about itself only.
func reporter(f func(wire.Report)) func(wire.Report) {
	if f == nil {
		return nil
	}
	return func(r wire.Report) {
		r.Event.Node = r.Node
		f(r)
	}
}

func (h *Hub) hello(hs Handlers) answerer {
	return func(ctx context.Context, r request) ([]byte, error) {
		m, err := decodeOwn(r, func(m wire.Hello) model.NodeID { return m.Node.ID })
		if err != nil {
			return nil, err
		}
		if hs.Hello == nil {
			return nil, errNoHandler
		}
		m.Node.PublicKey = r.sender // whatever it says
		return encoded(hs.Hello(ctx, m))
	}
}

func ready(hs Handlers) answerer {
	return func(ctx context.Context, r request) ([]byte, error) {
		m, err := decodeOwn(r, func(m wire.Ready) model.NodeID { return m.Node })
		if err != nil {
			return nil, err
		}
		if hs.Ready == nil {
			return nil, errNoHandler
		}
		return encoded(hs.Ready(ctx, m))
	}
}

func result(hs Handlers) answerer {
	return func(ctx context.Context, r request) ([]byte, error) {
		m, err := decodeResult(r)
		if err != nil {
			return nil, err
		}
		if hs.Result == nil {
			return nil, errNoHandler
		}
		return encoded(hs.Result(ctx, m.Result), nil)
	}
}

// decodeResult decodes a result. One that breaks the contract arrives as a
// failed one that says so, for its agent would offer it again for ever.
func decodeResult(r request) (wire.Result, error) {
	m, err := decodeOwn(r, func(m wire.Result) model.NodeID { return m.Node })
	if err == nil || errors.Is(err, model.ErrDenied) {
		return m, err
	}
	bare := unusable(m.Result, err)
	if bare.Check() != nil || bare.Node != r.grant.Node {
		return m, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	return bare, nil
}

func chunk(hs Handlers) answerer {
	return func(ctx context.Context, r request) ([]byte, error) {
		c, err := wire.DecodeChunk(r.body)
		if err == nil && c.Node != r.grant.Node {
			err = fmt.Errorf("%w: %w", model.ErrDenied, errForeign)
		}
		if err != nil {
			return nil, err
		}
		if hs.Chunk == nil {
			return nil, errNoHandler
		}
		return nil, hs.Chunk(ctx, c)
	}
}

// encoded turns a handler's answer into a body.
func encoded[T any](reply T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(reply)
}
