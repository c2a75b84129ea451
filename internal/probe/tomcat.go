package probe

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// tomcat asks Tomcat's JMXProxyServlet.
type tomcat struct {
	*page
	// port is where it is asked. A connector that is there for that is no part
	// of the service.
	port string
}

func openTomcat(p Probe) (server, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		return nil, fmt.Errorf("its url must end before the question mark, as http://…/jmxproxy")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return &tomcat{page: newPage(p.URL, nil), port: port}, nil
}

// bean is what one of Java's management beans tells, with its name under "Name".
type bean map[string]string

// connector is the name of the connector that the bean is about.
func (b bean) connector() string {
	_, rest, _ := strings.Cut(b["Name"], `name="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// query returns the beans of a type.
func (t *tomcat) query(ctx context.Context, kind string) ([]bean, error) {
	body, err := t.get(ctx, "?qry="+url.QueryEscape("*:type="+kind+",*"))
	if err != nil {
		return nil, err
	}
	t.asked++
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	if !strings.HasPrefix(text, "OK - ") {
		line, _, _ := strings.Cut(text, "\n")
		return nil, fmt.Errorf("%w: it begins with %.60q", errNoAnswer, line)
	}
	var beans []bean
	for block := range strings.SplitSeq(text, "\n\n") {
		if b := bean(colons([]byte(block))); b["Name"] != "" {
			beans = append(beans, b)
		}
	}
	return beans, nil
}

func (t *tomcat) ask(ctx context.Context, a *answer) error {
	asked := t.asked
	threads, err := t.query(ctx, "ThreadPool")
	if err != nil {
		return err
	}
	own, counted, err := t.threads(threads, a)
	if err != nil {
		return err
	}
	requests, err := t.query(ctx, "GlobalRequestProcessor")
	if err != nil {
		return err
	}
	for _, b := range requests {
		if !counted && b.connector() == own {
			continue
		}
		a.addText("requests", b["requestCount"])
		a.addText("errors", b["errorCount"])
		if ms, err := strconv.ParseFloat(b["processingTime"], 64); err == nil {
			a.add("response", ms/1e3)
		}
	}
	if counted {
		a.add("requests", -float64(asked+1)) // that for the threads is over, this one not
	}
	return t.pools(ctx, a)
}

// threads tells of the fullest of all connectors but the one that is there for probes
// alone: own. Where it is the only one, it is counted, without the thread that is at
// work on the probe.
func (t *tomcat) threads(beans []bean, a *answer) (own string, counted bool, err error) {
	connectors := map[string]bean{}
	for _, b := range beans {
		if b["currentThreadsBusy"] == "" {
			continue // of a connector's sockets
		}
		name := b.connector()
		connectors[name] = b
		if strings.HasSuffix(name, "-"+t.port) {
			own = name
		}
	}
	if len(connectors) == 0 {
		return "", false, fmt.Errorf("%w: it has no bean of type ThreadPool", errNoAnswer)
	}
	counted = own != "" && len(connectors) == 1
	var all []limited
	for name, b := range connectors {
		if name == own && !counted {
			continue
		}
		// -1 of maxThreads is a pool that connectors share.
		all = append(all, limited{numberOf(b["currentThreadsBusy"]), numberOf(b["maxThreads"]), math.NaN()})
		a.addText("sessions", b["connectionCount"])
		a.addText("sessions_max", b["maxConnections"])
		if b["connectionCount"] != b["maxConnections"] {
			a.add("sessions", -1) // Tomcat counts the one that it waits to accept
		}
	}
	if counted {
		all[0].used--
		a.add("sessions", -1)
	}
	a.addLimited(all, "threads_busy", "threads_max", "threads_queue")
	return own, counted, nil
}

// pools tells of the fullest pool of database connections: of Tomcat's own, or of Commons
// DBCP's, which does not tell how many wait.
func (t *tomcat) pools(ctx context.Context, a *answer) error {
	own, err := t.query(ctx, "ConnectionPool")
	if err != nil {
		return err
	}
	var pools []limited
	for _, b := range own {
		pools = append(pools, limited{numberOf(b["Active"]), numberOf(b["MaxActive"]), numberOf(b["WaitCount"])})
	}
	if len(own) == 0 {
		var dbcp []bean
		dbcp, err = t.query(ctx, "DataSource")
		for _, b := range dbcp {
			pools = append(pools, limited{numberOf(b["numActive"]), numberOf(b["maxTotal"]), math.NaN()})
		}
	}
	a.addPool(pools)
	return err
}
