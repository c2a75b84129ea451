// Package natsqueue is a work queue of the user's own, in NATS JetStream: a stream from
// which a durable pull consumer takes messages with explicit acknowledgements.
//
//  1. Open connects and finds stream and consumer, or makes them (this file).
//  2. Take pulls one message. Whoever works on it says so from time to time (Renew), and
//     acknowledges it once its result is stored (message.go).
//  3. A message is the name of an item, or the event of an object store (event.go).
package natsqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/workload"
)

// Config says which queue is used. Its tags are keys of the workload jobs.
type Config struct {
	URL      string `json:"url" jsonschema:"required,minLength=1" jsonschema_description:"Where NATS is: nats://host:4222 or tls://host:4222, several with commas. Credentials come from the agent's environment: NATS_CREDS or NATS_NKEY (files), NATS_TOKEN, or NATS_USER and NATS_PASSWORD; authorities from NATS_CA."`
	Stream   string `json:"stream" jsonschema:"required,minLength=1" jsonschema_description:"Stream of the messages, one an item: the item's name, or the event of an object store."`
	Subject  string `json:"subject,omitempty" jsonschema_description:"Subject of the messages. Default: all of the stream."`
	Consumer string `json:"consumer,omitempty" jsonschema_description:"Durable pull consumer that all nodes share, made if it is missing. Default: scalebench-jobs."`
	Create   bool   `json:"create,omitempty" jsonschema_description:"Make the stream if it is missing, as a work queue of the subject; it stays."`
}

// Variables are the patterns of the variables that hold credentials.
func Variables() []string { return []string{"NATS_*"} }

// DefaultConsumer is the consumer where none is named.
const DefaultConsumer = "scalebench-jobs"

// Check reports what is impossible, as errors of the key nats.
func (c Config) Check() error {
	name := func(key, value string) error {
		return workload.Refuse(strings.ContainsAny(value, " .*>/\\\t\r\n"), "nats."+key,
			"a name without spaces, dots, *, > and /",
			"%q cannot name one", value)
	}
	return errors.Join(c.checkURL(), name("stream", c.Stream), name("consumer", c.Consumer),
		workload.Invalid(c.Stream == "", "nats.stream", "is missing", "name the stream of the messages"),
		workload.Invalid(c.Create && c.Subject == "", "nats.subject", "is missing",
			"name it: create: true makes a stream of this subject"))
}

func (c Config) checkURL() error {
	for one := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls": // not shown: it may hold a password
			return workload.Invalid(true, "nats.url", "is not the URL of a NATS server",
				"use nats://HOST:PORT or tls://HOST:PORT")
		case u.User != nil:
			return workload.Invalid(true, "nats.url", "must not contain credentials",
				"set NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_NKEY or NATS_CREDS in the agent's environment")
		}
	}
	return nil
}

// Queue is the consumer of a stream. It may be used by many slots at once.
type Queue struct {
	Config

	conn     *nats.Conn
	stream   jetstream.JetStream
	consumer jetstream.Consumer
}

// patience bounds one question to the server.
const patience = 10 * time.Second

// Open connects. lease is the silence after which a message goes to another worker.
func Open(ctx context.Context, c Config, lease time.Duration, environ []string) (*Queue, error) {
	c.Consumer = cmp.Or(c.Consumer, DefaultConsumer)
	options, err := options(environ)
	if err != nil {
		return nil, err
	}
	q := &Queue{Config: c}
	if q.conn, err = nats.Connect(c.URL, options...); err != nil {
		return nil, fmt.Errorf("connecting to NATS at %s (credentials come from NATS_… of the agent's environment): %w",
			c.URL, err)
	}
	if err := q.find(ctx, lease); err != nil {
		q.conn.Close()
		return nil, err
	}
	return q, nil
}

// options are how the server is reached, as variables tell.
func options(environ []string) ([]nats.Option, error) {
	get := func(name string) string { value, _ := workload.Getenv(environ, name); return value }
	o := []nats.Option{nats.Name("scalebench jobs"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.Timeout(patience)}
	if file := get("NATS_CREDS"); file != "" {
		o = append(o, nats.UserCredentials(file))
	}
	if file := get("NATS_NKEY"); file != "" {
		key, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return nil, fmt.Errorf("NATS_NKEY: %w", err)
		}
		o = append(o, key)
	}
	if user := get("NATS_USER"); user != "" {
		o = append(o, nats.UserInfo(user, get("NATS_PASSWORD")))
	}
	if token := get("NATS_TOKEN"); token != "" {
		o = append(o, nats.Token(token))
	}
	if file := get("NATS_CA"); file != "" {
		o = append(o, nats.RootCAs(file))
	}
	return o, nil
}

// find finds stream and consumer.
func (q *Queue) find(ctx context.Context, lease time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if q.stream, err = jetstream.New(q.conn); err != nil {
		return err
	}
	if q.Create {
		_, err = q.stream.CreateStream(ctx, jetstream.StreamConfig{
			Name: q.Stream, Subjects: []string{q.Subject}, Retention: jetstream.WorkQueuePolicy,
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("making the stream %q: %w", q.Stream, err)
		}
	}
	q.consumer, err = q.stream.Consumer(ctx, q.Stream, q.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		// Nodes that do so at once ask for the same, so that all of them get it.
		q.consumer, err = q.stream.CreateConsumer(ctx, q.Stream, jetstream.ConsumerConfig{
			Durable: q.Consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease + lease/2, MaxAckPending: -1,
			MaxDeliver: -1, FilterSubject: q.Subject,
		})
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("there is no stream %q on %s: make it, or set nats.create: true", q.Stream, q.URL)
	case err != nil:
		return fmt.Errorf("looking for consumer %q of stream %q: %w", q.Consumer, q.Stream, err)
	}
	return q.check(lease)
}

// check refuses a consumer with which results would be lost or done twice all the time.
func (q *Queue) check(lease time.Duration) error {
	c := q.consumer.CachedInfo().Config
	switch {
	case c.AckPolicy != jetstream.AckExplicitPolicy:
		return fmt.Errorf("consumer %q of stream %q does not ask for explicit acknowledgements: use another one",
			q.Consumer, q.Stream)
	case c.AckWait < lease:
		return fmt.Errorf("consumer %q of stream %q waits %s for an acknowledgement, less than lease %s: "+
			"use another one, or a shorter lease",
			q.Consumer, q.Stream, c.AckWait, lease)
	}
	return nil
}

// Waiting is how many messages wait to be taken, and how many are being worked on.
func (q *Queue) Waiting(ctx context.Context) (pending, taken int64, err error) {
	if !q.conn.IsConnected() {
		return 0, 0, nats.ErrDisconnected // a question would wait for its patience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := q.consumer.Info(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("asking for consumer %q: %w", q.Consumer, err)
	}
	return int64(info.NumPending), int64(info.NumAckPending), nil
}

// Publish sends a message for each of these names, and returns when all are stored.
func (q *Queue) Publish(ctx context.Context, names []string) error {
	if q.Subject == "" {
		return errors.New("nats.subject is missing: messages of the uploader need one")
	}
	acks := make([]jetstream.PubAckFuture, 0, len(names))
	for _, name := range names {
		ack, err := q.stream.PublishMsgAsync(&nats.Msg{Subject: q.Subject, Data: []byte(name)})
		if err != nil {
			return fmt.Errorf("sending a message to subject %q: %w", q.Subject, err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("sending a message to subject %q: %w", q.Subject, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends the connection.
func (q *Queue) Close() { q.conn.Close() }
