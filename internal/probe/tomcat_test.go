package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/servers"
)

// tomcatHome is where Debian's package puts Tomcat.
const tomcatHome = "/usr/share/tomcat10"

const tomcatServer = `<Server port="-1"><Service name="Catalina">
<Connector address="127.0.0.1" port="%[1]s" maxThreads="9" maxConnections="70"/>%[2]s
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps" autoDeploy="false" deployOnStartup="false">
<Context path="" docBase="app" privileged="true">
<Resource name="jdbc/db" auth="Container" type="javax.sql.DataSource" factory="org.apache.tomcat.jdbc.pool.DataSourceFactory"
 driverClassName="none" url="jdbc:none" initialSize="0" maxActive="7"/>
</Context></Host></Engine></Service></Server>`

const tomcatApp = `<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0" metadata-complete="true">
<servlet><servlet-name>jmx</servlet-name><servlet-class>org.apache.catalina.manager.JMXProxyServlet</servlet-class></servlet>
<servlet-mapping><servlet-name>jmx</servlet-name><url-pattern>/jmxproxy</url-pattern></servlet-mapping>
<servlet><servlet-name>cgi</servlet-name><servlet-class>org.apache.catalina.servlets.CGIServlet</servlet-class>
<init-param><param-name>cgiPathPrefix</param-name><param-value>WEB-INF/cgi</param-value></init-param>
<init-param><param-name>executable</param-name><param-value>/bin/sh</param-value></init-param></servlet>
<servlet-mapping><servlet-name>cgi</servlet-name><url-pattern>/cgi/*</url-pattern></servlet-mapping>
</web-app>`

// TestTomcat: three threads at work, whether probes have a connector of their own
// or not. It needs what only scripts/ntier-deps.sh installs, and is a part of the
// proof of n-tier experiments.
func TestTomcat(t *testing.T) {
	parts.Begin(t)
	if os.Getenv("NTIER_PROOF") == "" {
		t.Skip("make ntier-proof runs it")
	}
	if _, err := os.Stat(tomcatHome); err != nil {
		t.Fatalf("%v; install it with scripts/ntier-deps.sh", err)
	}
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own connector %v", own), func(t *testing.T) { testTomcat(t, own) })
	}
}

func testTomcat(t *testing.T, own bool) {
	t.Parallel()
	s := servers.New(t, "")
	for _, dir := range []string{"conf", "logs", "temp", "work", "webapps/app/WEB-INF/cgi"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o755); err != nil { //nolint:gosec // nothing secret
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(s.Dir, "webapps/app/WEB-INF/web.xml"), tomcatApp)
	writeFile(t, filepath.Join(s.Dir, "webapps/app/WEB-INF/cgi/slow"),
		"printf 'Content-Type: text/plain\\n\\n'; while [ ! -e '"+s.Dir+"/go' ]; do sleep 0.05; done; echo x\n")
	second, asked := "", ""
	if own {
		asked = servers.FreeAddress(t)
		second = `<Connector address="127.0.0.1" port="` + asked[len("127.0.0.1:"):] + `"/>`
	}
	s.Listen(func(port string) *exec.Cmd {
		writeFile(t, filepath.Join(s.Dir, "conf/server.xml"), fmt.Sprintf(tomcatServer, port, second))
		cmd := s.Command(tomcatHome+"/bin/catalina.sh", "run")
		cmd.Env = append(cmd.Env, "CATALINA_HOME="+tomcatHome, "CATALINA_BASE="+s.Dir, "CATALINA_OPTS=-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
		return cmd
	}, func() error { return s.Says("GET /nothing HTTP/1.0\r\n\r\n", "404") })
	if !own {
		asked = s.Addr
	}
	p := Probe{Kind: "tomcat", URL: "http://" + asked + "/jmxproxy"}
	ses := open(t, p)
	read(t, ses, p)
	before := eventually(t, ses, p, "sessions", 0)
	want(t, "idle", read(t, ses, p), map[string]float64{"threads_busy": 0, "threads_max": 9, "sessions": 0, "sessions_max": 70,
		"pool_active": 0, "pool_max": 7, "pool_waiting": 0, "requests": before["requests"], "errors": before["errors"]})
	wait := fetch(t, "http://"+s.Addr+"/cgi/slow", 3)
	eventually(t, ses, p, "threads_busy", 3)
	began := time.Now()
	<-time.After(200 * time.Millisecond)
	held := time.Since(began).Seconds()
	writeFile(t, filepath.Join(s.Dir, "go"), "")
	wait()
	after := eventually(t, ses, p, "requests", before["requests"]+3)
	if took := after["response"] - before["response"]; took < 3*held*0.99 || took > 3*held+3 {
		t.Errorf("response = %v s for three requests of %v s", took, held)
	}
	fetch(t, "http://"+s.Addr+"/nothing", 2)()
	eventually(t, ses, p, "errors", before["errors"]+2)
}

// TestBeans cuts up what JMXProxyServlet answers.
func TestBeans(t *testing.T) {
	a := &answer{values: map[string]float64{}}
	own, counted, err := (&tomcat{port: "8081"}).threads([]bean{
		{"Name": `Catalina:type=ThreadPool,name="http-nio-8080"`, "currentThreadsBusy": "5", "maxThreads": "-1", "connectionCount": "6", "maxConnections": "10"},
		{"Name": `Catalina:type=ThreadPool,name="http-nio-8080",subType=SocketProperties`},
		{"Name": `Catalina:type=ThreadPool,name="http-nio-127.0.0.1-8081"`, "currentThreadsBusy": "1", "maxThreads": "3", "connectionCount": "1"},
	}, a)
	if own != "http-nio-127.0.0.1-8081" || counted || err != nil {
		t.Errorf("threads = %q, %v, %v", own, counted, err)
	}
	if d := cmp.Diff(map[string]float64{"threads_busy": 5, "sessions": 5, "sessions_max": 10}, a.values); d != "" {
		t.Errorf("of the other connector (-want +got):\n%s", d)
	}
	if _, _, err := (&tomcat{}).threads(nil, a); err == nil {
		t.Error("no connectors, and no error")
	}
}

// TestFullestConnector: of two connectors the fullest is told, and not their sum; so of
// pools, with those for which requests wait before others.
func TestFullestConnector(t *testing.T) {
	a := &answer{values: map[string]float64{}}
	if _, _, err := (&tomcat{port: "8081"}).threads([]bean{
		{"Name": `Catalina:type=ThreadPool,name="http-nio-8080"`, "currentThreadsBusy": "9", "maxThreads": "9", "connectionCount": "12", "maxConnections": "70"},
		{"Name": `Catalina:type=ThreadPool,name="ajp-nio-8009"`, "currentThreadsBusy": "0", "maxThreads": "9", "connectionCount": "1", "maxConnections": "70"},
	}, a); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]float64{"threads_busy": 9, "threads_max": 9, "sessions": 11, "sessions_max": 140}, a.values); d != "" {
		t.Errorf("of two connectors (-want +got):\n%s", d)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := "OK - Number of results: 2\r\n\r\n"
		if strings.Contains(r.URL.Query().Get("qry"), "ConnectionPool") {
			text += "Name: tomcat.jdbc:name=\"jdbc/write\"\r\nActive: 8\r\nMaxActive: 8\r\nWaitCount: 0\r\n\r\nName: tomcat.jdbc:name=\"jdbc/read\"\r\nActive: 30\r\nMaxActive: 31\r\nWaitCount: 4\r\n\r\n"
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	a = &answer{values: map[string]float64{}}
	asked := &tomcat{page: newPage(server.URL, nil)}
	defer asked.close()
	if err := asked.pools(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]float64{"pool_active": 30, "pool_max": 31, "pool_waiting": 4}, a.values); d != "" {
		t.Errorf("of two pools (-want +got):\n%s", d)
	}
}
