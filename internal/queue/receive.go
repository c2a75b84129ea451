package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// request is a verified message of an agent or client.
type request struct {
	msg    *nats.Msg // its Reply is "" if the sender expects none
	inbox  string    // the reply must be below the inbox of this key
	kind   string
	sender string // public key
	grant  identity.Grant
	issued time.Time
	frame  frame
	body   []byte // in the frame, or in parts
	work   int64  // what it takes of Hub.work
}

// answerer handles the requests of one kind.
type answerer func(context.Context, *request) ([]byte, error)

// route is how the messages of one kind are handled.
type route struct {
	kind   string
	answer answerer
	// queue is the sender's queue in which its messages are handled in order,
	// with at most capacity of them waiting; clients' have none.
	queue    string
	capacity int
	// fresh: a message must be newer than the sender's last such message.
	fresh bool
}

// The queues of a node. What may wait for the store has queues of its own:
// deliveries, and coming and going.
const (
	queueControl  = ".control"
	queueBulk     = ".bulk"
	queuePresence = ".presence"
)

// How many messages may wait in one queue. An agent sends a handful at a time;
// a sender of more waits for a reply that never comes, and repeats. Bulk
// messages are large; of coming and going, more are repetitions.
const (
	maxControl  = 256
	maxBulk     = 16
	maxPresence = 8
)

// Serve starts receiving and returns; messages arrive until Close.
func (h *Hub) Serve(hs Handlers) error {
	h.cut = hs.Cut
	err := h.receive(h.names.anyAgent, []route{
		{kindHello, h.paced(2, 20, handler(wire.Decode, hs.Hello)), queuePresence, maxPresence, true},
		{kindGoodbye, h.paced(2, 20, handler(wire.Decode, func(ctx context.Context, m wire.Goodbye) (none, error) {
			hs.Goodbye(ctx, m)
			return none{}, nil
		})), queuePresence, maxPresence, true},
		{kindHeartbeat, listener(hs.Heartbeat), queueControl, maxControl, true},
		{kindReady, handler(wire.Decode, hs.Ready), queueControl, maxControl, true},
		{kindProgress, h.paced(4, 20, listener(hs.Progress)), queueControl, maxControl, false},
		{kindReport, h.paced(0.1, 50, listener(func(m wire.Report) {
			m.Event.Node = m.Node // a node reports about itself only
			hs.Report(m)
		})), queueControl, maxControl, false},
		{kindMissing, listener(hs.Missing), queueControl, maxControl, false},
		{kindReadings, h.paced(2, 20, listener(hs.Readings)), queueControl, maxControl, false},
		{kindFetch, h.fetch, queueControl, maxControl, false},
		{kindResult, handler(decodeResult, func(ctx context.Context, m wire.Result) (wire.ResultReply, error) {
			return hs.Result(ctx, m.Result), nil
		}), queueBulk, maxBulk, false},
		{kindChunk, handler(wire.DecodeChunk, func(ctx context.Context, m wire.Chunk) (none, error) {
			return none{}, hs.Chunk(ctx, m)
		}), queueBulk, maxBulk, false},
		{kindPart, h.upload, queueBulk, maxBulk, false},
	}, h.fromAgent)
	if err == nil {
		err = h.receive(h.names.anyClient, []route{
			{kind: kindCall, answer: hs.call},
			{kind: kindPart, answer: h.upload},
			{kind: kindFetch, answer: h.fetch},
			{kind: kindWatch, answer: h.watch},
		}, h.fromClient)
	}
	if err == nil {
		err = h.subscribe(h.names.anyAgent(kindClock), h.clock)
	}
	if err == nil {
		err = h.subscribe(h.names.join(), h.join)
	}
	if err == nil {
		err = h.nc.Flush()
	}
	if err != nil {
		return fmt.Errorf("listening on the queue: %w", err)
	}
	return nil
}

// maxReceived is how many messages wait to be sorted into queues, which takes
// microseconds each. What does not fit is lost, as on the way; its sender
// repeats it.
const maxReceived = 1 << 15

// receive receives several kinds through one channel. Subscriptions with
// handlers of their own would each deliver at its own pace, so that a heartbeat
// could overtake a hello, and the hello be taken for a replay.
func (h *Hub) receive(subject func(kind string) string, routes []route, handle func(*nats.Msg, route)) error {
	received := make(chan *nats.Msg, maxReceived)
	byKind := make(map[string]route, len(routes))
	for _, r := range routes {
		byKind[r.kind] = r
		sub, err := h.nc.ChanSubscribe(subject(r.kind), received)
		if err != nil {
			return err
		}
		h.keep(sub)
	}
	h.running.Go(func() {
		for {
			select {
			case <-h.ctx.Done():
				return
			case m := <-received:
				handle(m, byKind[tokenAt(m.Subject, kindToken)])
			}
		}
	})
	return nil
}

func (h *Hub) subscribe(subject string, handle nats.MsgHandler) error {
	sub, err := h.nc.Subscribe(subject, handle)
	if err == nil {
		h.keep(sub)
	}
	return err
}

// keep remembers a subscription for Close.
func (h *Hub) keep(sub *nats.Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, sub)
}

// fromAgent handles an agent's message in the node's queue for its kind. What
// must be fresh is verified in the order of arrival before that.
func (h *Hub) fromAgent(m *nats.Msg, r route) {
	node := tokenAt(m.Subject, senderToken)
	leave, ok := h.enter(m, minCharge)
	if !ok {
		return
	}
	enqueue := func(queue string, capacity int, f func()) {
		if !h.queues.add(node+queue, capacity, f) {
			h.refused(m, errTooMany)
			leave()
		}
	}
	if r.queue != queuePresence {
		enqueue(r.queue, r.capacity, func() { h.handle(m, fromAgent, r); leave() })
		return
	}
	enqueue(queueControl, maxControl, func() {
		req, ok := h.admit(m, fromAgent, r)
		if !ok {
			leave()
			return
		}
		enqueue(r.queue, r.capacity, func() { h.respond(req, r.answer); leave() })
	})
}

// fromClient handles a client's message beside all others; see maxCalls.
func (h *Hub) fromClient(m *nats.Msg, r route) {
	leave, ok := h.enter(m, minChargeClient)
	if !ok {
		return
	}
	h.running.Go(func() {
		defer leave()
		select {
		case h.calls <- struct{}{}:
			h.handle(m, fromClient, r)
			<-h.calls
		case <-h.ctx.Done():
		}
	})
}

// enter lets a message wait if there is room for it; leave ends that. Without
// room it is dropped unread, for all senders' messages pass here one by one;
// its sender gets no answer, and repeats it.
func (h *Hub) enter(m *nats.Msg, least int) (leave func(), ok bool) {
	sender, size := h.names.sender(m.Subject), max(len(m.Data), least)
	if err := h.guard.enter(sender, size); err != nil {
		if !errors.Is(err, errBarred) {
			h.refused(m, err)
		}
		return nil, false
	}
	return func() { h.guard.leave(sender, size) }, true
}

// handle verifies a message, answers it and sends the answer.
func (h *Hub) handle(m *nats.Msg, from string, r route) {
	if req, ok := h.admit(m, from, r); ok {
		h.respond(req, r.answer)
	}
}

var (
	errTooMany      = errors.New("too many messages at a time")
	errBusy         = errors.New("the server has too much to do at the moment")
	errReplay       = errors.New("replayed: not newer than the sender's last message")
	errForeign      = fmt.Errorf("%w: the message's sender is not its signer", model.ErrDenied)
	errReplySubject = errors.New("the reply subject is not in the sender's own inbox")
)

// admit verifies a message; it tells the sender why if that fails.
func (h *Hub) admit(m *nats.Msg, from string, rt route) (request, bool) {
	r, err := h.open(m, from, rt.kind)
	if err == nil && m.Reply != "" && !h.names.isInbox(m.Reply, r.inbox) {
		err = errReplySubject
	}
	if err != nil {
		h.release(r)
		h.answer(r, errorFrame(err))
		h.broke(m, r, err)
		return r, false
	}
	if rt.fresh {
		if floor, ok := h.fresh.accept(r.sender, r.issued); !ok {
			h.release(r)
			h.refused(m, errReplay)
			h.answer(r, replayFrame(floor))
			return r, false
		}
	}
	return r, true
}

// open verifies a message. The request is set as far as it is known to be
// true: a sender that is set has signed the message, admitted or not.
func (h *Hub) open(m *nats.Msg, from, kind string) (request, error) {
	r := request{msg: m, kind: kind}
	secret, signer, issued, err := identity.Open(m.Data, from+kind)
	if err != nil {
		return r, err
	}
	r.sender, r.inbox, r.issued = signer, signer, issued
	grant, ok := h.auth.Admitted(signer)
	if !ok {
		return r, fmt.Errorf("%w: the server does not admit this key (never admitted, or revoked); join with a new token", model.ErrDenied)
	}
	r.grant = grant
	if err := checkSubject(m.Subject, from, grant); err != nil {
		return r, err
	}
	whole, _ := limits(kind)
	if len(secret) > whole+margin {
		return r, errTooLarge
	}
	packed, err := h.key.Decrypt(signer, secret)
	if err != nil {
		return r, err
	}
	size, err := unpackedSize(packed, whole+margin)
	if err == nil {
		err = h.reserve(&r, size)
	}
	if err != nil {
		return r, err
	}
	plain, err := unpack(packed, whole+margin)
	if err == nil {
		r.frame, err = parseFrame(plain)
	}
	return r, err
}

// maxWork bounds the messages that are unpacked at a time, in bytes. What they
// become in memory is a few times as much.
const maxWork = 12 << 20

// reserve waits until there is memory to handle a body of so many bytes; small
// ones need none. The request holds it until release.
func (h *Hub) reserve(r *request, size int) error {
	if size <= maxSmall+margin {
		return nil
	}
	work := min(int64(size), maxWork)
	err := h.work.Acquire(h.ctx, work)
	if err == nil {
		r.work = work
	}
	return err
}

func (h *Hub) release(r request) {
	if r.work > 0 {
		h.work.Release(r.work)
	}
}

// checkSubject holds the sender to its own subjects, for on an external queue
// the queue does not.
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

// refused logs a message that was not accepted; the text names no payload.
func (h *Hub) refused(m *nats.Msg, err error) {
	h.warn.Do(func() { h.opt.Log.Warn("message refused", "subject", m.Subject, "reply", m.Reply, "error", err) })
}

// respond answers a verified message; its body may be in parts.
func (h *Hub) respond(r request, do answerer) {
	err := h.whole(&r)
	var body []byte
	if err == nil {
		body, err = do(h.ctx, &r)
	}
	r.body, r.frame.body = nil, nil
	h.release(r)
	if err == nil {
		err = h.answerBody(r, body)
	}
	if err != nil {
		h.answer(r, errorFrame(err))
	}
	if breaksForm(err) {
		h.broke(r.msg, r, err)
	}
}

// whole puts the body of a request together.
func (h *Hub) whole(r *request) error {
	_, total := limits(r.kind)
	switch r.frame.kind {
	case frameBody:
		r.body = r.frame.body
		return nil
	case frameParts:
		size := h.parts.size(r.sender, r.frame.id)
		if size > total {
			h.parts.drop(r.sender, r.frame.id)
			return errTooLarge
		}
		err := h.reserve(r, size)
		if size > maxWhole {
			runtime.GC() // what the last such body left must not stand beside it
		}
		if err == nil {
			r.body, err = h.parts.take(r.sender, r.frame.id)
		}
		return err
	}
	return errFrame
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
	if !h.names.isInbox(r.msg.Reply, r.inbox) {
		return nil
	}
	if len(frame) > maxSmall && h.conn.unread(r.sender) > maxUnread {
		return errUnread
	}
	data, err := sealFor(h.key, r.sender, replyPurpose(r.msg.Data), frame, h.stamp.next())
	if err != nil {
		return err
	}
	return h.nc.Publish(r.msg.Reply, data)
}

// answerBody sends a reply of any size: too large for one message, it is kept
// and the sender fetches it in parts.
func (h *Hub) answerBody(r request, body []byte) error {
	err := nats.ErrMaxPayload
	if len(body) <= maxWhole {
		err = h.tryAnswer(r, bodyFrame(body))
	}
	if !errors.Is(err, nats.ErrMaxPayload) {
		return err
	}
	if len(body) > maxReply {
		return errReplySize
	}
	id, size := newTransferID(), partSize(h.nc.MaxPayload())
	if err := h.replies.offer(r.sender, id, body, size); err != nil {
		return err
	}
	return h.tryAnswer(r, partsFrame(id, (len(body)+size-1)/size))
}

// maxUnread is how much may wait for a key's connections before a larger reply
// is not sent, in bytes: its holder asks and does not read.
const maxUnread = 4 << 20

var errUnread = errors.New("the sender does not read what it asked for")

var errReplySize = model.Unavailablef("the answer is larger than a message may be")

func (h *Hub) upload(_ context.Context, r *request) ([]byte, error) {
	p, err := parsePart(r.body)
	if err != nil {
		return nil, err
	}
	return nil, h.parts.put(r.sender, p)
}

func (h *Hub) fetch(_ context.Context, r *request) ([]byte, error) {
	p, err := parsePart(r.body)
	if err != nil {
		return nil, err
	}
	return h.replies.get(r.sender, p)
}
