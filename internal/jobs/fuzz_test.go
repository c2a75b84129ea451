package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// FuzzCall: whatever tasks say, one after another, the queue stays sound, and an item is
// never handed out to be stored twice.
func FuzzCall(f *testing.F) {
	f.Add(`{"open":{"count":3,"lease":1000000000,"tries":2},"take":2}
{"finish":[{"lease":1,"key":"0","try":1,"outcome":"done"},{"lease":2,"key":"1","try":1,"outcome":"failed"}],"take":9}
{"renew":[1,2,3,4],"finish":[{"lease":1,"key":"0","try":1,"outcome":"done"}]}`)
	f.Add(`{"open":{"lease":1000000000,"tries":1},"add":{"from":0,"names":["a"]}}
{"add":{"from":1,"last":true},"take":1}
{"finish":[{"key":"x","try":1,"outcome":"set_aside"}]}`)
	f.Add(`{"open":{"endless":true,"count":1,"lease":1000000000,"tries":1},"take":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		q, now, stored := New(), start, make(map[string]bool)
		store := func(records []Record) (out []Storage) {
			for _, r := range records {
				if r.Lease != 0 && stored[r.Key] {
					t.Fatalf("item %s is to be stored twice", r.Key)
				}
				stored[r.Key] = r.Lease != 0
				out = append(out, Stored)
			}
			return out
		}
		for i, line := range strings.Split(text, "\n") {
			var c Call
			if json.Unmarshal([]byte(line), &c) != nil {
				continue
			}
			now = now.Add(time.Duration(len(line)) * 10 * time.Millisecond)
			for _, e := range q.Expire(now) {
				q.Settle(e.Record, store([]Record{e.Record})[0], now)
			}
			turn, _, err := q.Begin("o", uint64(i+1), c, now)
			if err != nil {
				continue
			}
			r, err := q.End(turn, true, store(turn.Records), now)
			if err != nil {
				t.Fatalf("a call that had begun: %v", err)
			}
			s := r.State
			if s.Done < 0 || s.SetAside < 0 || s.Leased < 0 || s.Queued < 0 || len(r.Leases) > c.Take ||
				s.Drained && s.Leased+s.Queued > 0 {
				t.Fatalf("reply %+v", r)
			}
		}
	})
}
