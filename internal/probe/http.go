package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page is a page of a server. Its connection is kept.
type page struct {
	url    string
	client *http.Client
	parse  func(body []byte, asked int, a *answer) error
	asked  int // how often it has answered
}

// overHTTP opens a page that parse understands; asked is how often the page was
// had before.
func overHTTP(parse func(body []byte, asked int, a *answer) error) func(Probe) (server, error) {
	return func(p Probe) (server, error) { return newPage(p.URL, parse), nil }
}

func newPage(url string, parse func(body []byte, asked int, a *answer) error) *page {
	transport := &http.Transport{MaxConnsPerHost: 1, DisableCompression: true}
	return &page{url: url, parse: parse, client: &http.Client{Transport: transport}}
}

func (p *page) ask(ctx context.Context, a *answer) error {
	body, err := p.get(ctx, "")
	if err != nil {
		return err
	}
	err = p.parse(body, p.asked, a)
	p.asked++
	return err
}

func (p *page) close() { p.client.CloseIdleConnections() }

// maxPage is how many bytes of a page are read.
const maxPage = 4 << 20

// get returns the page with something behind its URL. Its errors hide a password.
func (p *page) get(ctx context.Context, more string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+more, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	_ = resp.Body.Close() // it was read
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %s: check url, user and rights", resp.Status)
	}
	return body, nil
}

// readHAProxy reads the statistics of HAProxy (management.txt, 9.1): a line for
// each frontend, backend and server. Proxies without a server only show
// statistics, or are told of in the backends that they lead to.
func readHAProxy(body []byte, _ int, a *answer) error {
	rows, err := haproxyRows(body)
	if err != nil {
		return err
	}
	serving, statistics, queued := map[string]bool{}, map[string]bool{}, map[string]float64{}
	for _, r := range rows {
		serving[r["pxname"]] = serving[r["pxname"]] || r["type"] == "2"
		if r["type"] == "1" {
			statistics[r["pxname"]], queued[r["pxname"]] = true, numberOf(r["qcur"])
		}
	}
	var servers []limited
	for _, r := range rows {
		switch name := r["pxname"]; {
		case r["type"] == "0" && (serving[name] || !statistics[name]):
			a.addText("sessions", r["scur"])
			a.addText("sessions_max", r["slim"])
		case r["type"] == "1" && serving[name]:
			a.addText("requests", cmp.Or(r["req_tot"], r["stot"]))
			a.addText("errors", r["hrsp_4xx"])
			a.addText("errors", r["hrsp_5xx"])
		case r["type"] == "2": // what waits for any server of a backend waits for this one, too
			servers = append(servers, limited{numberOf(r["scur"]), numberOf(r["slim"]), numberOf(r["qcur"]) + queued[name]})
		}
	}
	a.addPool(servers)
	return nil
}

// haproxyRows returns the lines by the names in the first.
func haproxyRows(body []byte) ([]map[string]string, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("# "))))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, fmt.Errorf("%w: no CSV of HAProxy; its url must end in ;csv", errNoAnswer)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string, len(line))
		for i, name := range lines[0][:min(len(lines[0]), len(line))] {
			row[name] = line[i]
		}
		if err := missing(row, "pxname", "type", "scur", "qcur"); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// addText adds a number that is text; an empty one is not there.
func (a *answer) addText(name, text string) {
	if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		a.add(name, v)
	}
}

// readApache reads mod_status, ?auto. The request for the page is one of those
// that it tells of: busy now, and counted next time.
func readApache(body []byte, asked int, a *answer) error {
	fields := colons(body)
	if err := missing(fields, "BusyWorkers", "Scoreboard"); err != nil {
		return fmt.Errorf("%w; its url must end in ?auto", err)
	}
	a.addText("threads_busy", fields["BusyWorkers"])
	a.add("threads_busy", -1)
	a.add("threads_max", float64(len(fields["Scoreboard"])))
	a.addText("sessions", fields["ConnsTotal"])
	if total, ok := fields["Total Accesses"]; ok { // with ExtendedStatus, which is the default
		a.addText("requests", total)
		a.add("requests", -float64(asked))
	}
	if ms, err := strconv.ParseFloat(fields["Total Duration"], 64); err == nil { // since 2.4.35
		a.add("response", ms/1e3)
	}
	a.up, _ = strconv.ParseFloat(fields["ServerUptimeSeconds"], 64) // 0 where it is not told
	return nil
}

// colons reads lines "name: value".
func colons(body []byte) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": "); ok {
			fields[name] = value
		}
	}
	return fields
}

// boardStatus is what `scalebench board` tells of itself. A limit of 0 is none.
type boardStatus struct {
	Started, Now time.Time
	Threads      *struct{ Busy, Max, Queue float64 }
	Pools        []struct{ Active, Max, Waiting, Wait float64 }
	Connections  struct{ Open, Max float64 }
	Interactions map[string]struct{ Count, Errors, Response float64 }
}

func readBoard(body []byte, _ int, a *answer) error {
	var s boardStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if s.Threads == nil {
		return fmt.Errorf("%w: it lacks threads; its url must end in /_board/status", errNoAnswer)
	}
	a.up = s.Now.Sub(s.Started).Seconds()
	a.add("threads_busy", s.Threads.Busy)
	a.add("threads_queue", s.Threads.Queue)
	a.add("sessions", s.Connections.Open)
	var pools []limited
	for _, p := range s.Pools {
		pools = append(pools, limited{p.Active, p.Max, p.Waiting})
		a.add("pool_wait", p.Wait) // of requests for any of them
	}
	a.addPool(pools) // roles that only forward have none
	for name, v := range map[string]float64{"threads_max": s.Threads.Max, "sessions_max": s.Connections.Max} {
		if v > 0 {
			a.add(name, v)
		}
	}
	for _, total := range []string{"requests", "response", "errors"} {
		a.add(total, 0) // before the first request, too
	}
	for name, i := range s.Interactions {
		a.interaction(name, i.Count, i.Response)
		a.add("errors", i.Errors)
	}
	return nil
}

// interaction adds requests of one kind, in its own metrics and in the totals.
func (a *answer) interaction(name string, requests, seconds float64) {
	name = Interaction(name)
	a.add("requests", requests)
	a.add("response", seconds)
	a.add("requests["+name+"]", requests)
	a.add("response["+name+"]", seconds)
}

// maxName is how long the name of an interaction may be.
const maxName = 64

// inNames replaces what means something in names of metrics.
var inNames = strings.NewReplacer(".", "_", "[", "(", "]", ")", ":", "_")

// Interaction is how an interaction is named in a metric: a path without what is
// behind "?", without the first slash, and without dots and brackets, which mean
// something in names of metrics.
func Interaction(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if trimmed := strings.TrimPrefix(path, "/"); trimmed != "" {
		path = trimmed
	}
	path = strings.ToValidUTF8(path[:min(len(path), maxName)], "")
	return inNames.Replace(path)
}
