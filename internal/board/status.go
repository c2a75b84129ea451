package board

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// Paths that are not the application's: they need no worker thread, and are not
// counted.
const (
	StatusPath = "/_board/status"
	HealthPath = "/_board/health"
)

// Status is what a process tells of itself. Times are in seconds. What only
// grows is counted since the start: cpu, work, waits, wait, accepted, requests,
// errors, count, response, retries, gone.
type Status struct {
	Role    Role      `json:"role"`
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"`
	CPU     float64   `json:"cpu"`  // processor time of the process
	Work    float64   `json:"work"` // the part of it that was work

	Threads      ThreadStatus                 `json:"threads"`
	Pool         *PoolStatus                  `json:"pool,omitempty"` // the sum of Pools
	Pools        []PoolStatus                 `json:"pools,omitempty"`
	Connections  ConnectionStatus             `json:"connections"`
	Interactions map[string]InteractionStatus `json:"interactions"` // those that were asked for
	Upstreams    []UpstreamStatus             `json:"upstreams,omitempty"`
	Retries      int64                        `json:"retries"` // transactions that were done again
	Gone         int64                        `json:"gone"`    // requests whose users went before a thread was free
}

// ThreadStatus is about worker threads.
type ThreadStatus struct {
	Busy  int64 `json:"busy"`
	Max   int   `json:"max"`   // 0: no limit
	Queue int64 `json:"queue"` // requests that wait for one
}

// PoolStatus is about connections to a database.
type PoolStatus struct {
	Name    string  `json:"name,omitempty"`
	Active  int     `json:"active"`
	Max     int     `json:"max"`
	Waiting int64   `json:"waiting"`
	Waits   int64   `json:"waits"` // how often a request had to wait
	Wait    float64 `json:"wait"`  // for how long, in all
}

// ConnectionStatus is about connections of users, or of the tier before.
type ConnectionStatus struct {
	Open     int64 `json:"open"`
	Max      int   `json:"max"` // 0: no limit
	Accepted int64 `json:"accepted"`
	Backlog  int   `json:"backlog"` // how many may wait to be accepted
}

// InteractionStatus is about one interaction.
type InteractionStatus struct {
	Count    int64   `json:"count"`
	Errors   int64   `json:"errors"`   // of these, with a status of 400 or more
	Response float64 `json:"response"` // sum of the times from when a request was read to when it was answered
}

// UpstreamStatus is about one upstream.
type UpstreamStatus struct {
	Address     string `json:"address"`
	Outstanding int64  `json:"outstanding"`
	Requests    int64  `json:"requests"`
	Errors      int64  `json:"errors"` // requests that it did not answer
	Down        bool   `json:"down"`
}

// count is what is counted of an interaction.
type count struct{ n, errors, response atomic.Int64 }

func (c *count) add(response time.Duration, status int) {
	c.response.Add(int64(response))
	if status >= 400 {
		c.errors.Add(1)
	}
	c.n.Add(1)
}

// Status reads all counters.
func (s *Server) Status() Status {
	st := Status{
		Role: s.config.Role, Started: s.started, Now: time.Now(), CPU: processTime().Seconds(), Work: seconds(&s.worked),
		Threads: ThreadStatus{Busy: s.threads.inside(), Max: s.config.Threads, Queue: s.threads.waiting.Load()},
		Connections: ConnectionStatus{Open: s.listener.open.Load(), Max: s.config.Connections,
			Accepted: s.listener.accepted.Load(), Backlog: s.listener.backlog},
		Interactions: map[string]InteractionStatus{}, Gone: s.gone.Load(),
	}
	for i := range s.counts {
		if c := &s.counts[i]; c.n.Load() > 0 {
			st.Interactions[s.interactions[i].Name] = InteractionStatus{Count: c.n.Load(), Errors: c.errors.Load(), Response: seconds(&c.response)}
		}
	}
	if s.forward != nil {
		st.Upstreams = s.forward.status()
	}
	if s.app != nil {
		st.addPools(s.app.databases)
	}
	return st
}

func (st *Status) addPools(d *databases) {
	st.Retries, st.Pool = d.retries.Load(), &PoolStatus{}
	for _, p := range d.all {
		one := PoolStatus{Name: p.name, Active: int(p.inside()), Max: cap(p.slots), Waiting: p.waiting.Load(),
			Waits: p.waits.Load(), Wait: seconds(&p.waitTime)}
		st.Pools = append(st.Pools, one)
		st.Pool.Active += one.Active
		st.Pool.Max += one.Max
		st.Pool.Waiting += one.Waiting
		st.Pool.Waits += one.Waits
		st.Pool.Wait += one.Wait
	}
}

func seconds(ns *atomic.Int64) float64 { return time.Duration(ns.Load()).Seconds() }

func (st Status) json() []byte {
	text, err := json.Marshal(st)
	if err != nil {
		panic(err) // numbers and names are always written
	}
	return append(text, '\n')
}
