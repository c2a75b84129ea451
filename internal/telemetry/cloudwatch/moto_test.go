package cloudwatch

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/scalebench/scalebench/test/servers"
)

// moto is a server that answers as CloudWatch does, behind a proxy that can fail.
type moto struct {
	url   string // of the server itself
	proxy string
	calls atomic.Int32
	// fault answers a call itself, or returns false; calls count from 1.
	fault func(w http.ResponseWriter, call int) bool
	// paged gives half of the values a page; torn loses the second.
	paged, torn bool
}

func startMoto(t *testing.T) *moto {
	t.Helper()
	path := filepath.Join("..", "..", "..", ".tools", "moto", "bin", "moto_server")
	if _, err := os.Stat(path); err != nil {
		path = "moto_server"
	}
	path, err := filepath.Abs(servers.Program(t, path))
	if err != nil {
		t.Fatal(err)
	}
	s := servers.New(t, "")
	s.Listen(func(port string) *exec.Cmd {
		return s.Command(path, "-H", "127.0.0.1", "-p", port)
	}, func() error { return s.Says("GET /moto-api/ HTTP/1.0\r\n\r\n", "200") })
	m := &moto{url: "http://" + s.Addr}
	proxy := httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(proxy.Close)
	m.proxy = proxy.URL
	return m
}

func (m *moto) reset() {
	m.calls.Store(0)
	m.fault, m.paged, m.torn = nil, false, false
}

func (m *moto) serve(w http.ResponseWriter, r *http.Request) {
	call := int(m.calls.Add(1))
	body, err := io.ReadAll(r.Body)
	if err != nil || m.fault != nil && m.fault(w, call) {
		return
	}
	forward, err := http.NewRequestWithContext(r.Context(), r.Method, m.url+r.URL.String(), bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	forward.Header = r.Header
	forward.Host = r.Host // is signed
	answer, err := http.DefaultClient.Do(forward)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	if m.paged {
		form, _ := url.ParseQuery(string(body))
		text = page(text, form.Get("NextToken"), m.torn)
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text) // the client may be gone
}

type dataAnswer struct {
	XMLName xml.Name `xml:"GetMetricDataResponse"`
	Space   string   `xml:"xmlns,attr"`
	Result  struct {
		Data []struct {
			ID     string   `xml:"Id"`
			Label  string   `xml:"Label"`
			Status string   `xml:"StatusCode"`
			Times  []string `xml:"Timestamps>member"`
			Values []string `xml:"Values>member"`
		} `xml:"MetricDataResults>member"`
		NextToken string `xml:"NextToken,omitempty"`
	} `xml:"GetMetricDataResult"`
}

// page is the first half of an answer without a token, and the second with it.
func page(text []byte, token string, torn bool) []byte {
	var a dataAnswer
	if err := xml.Unmarshal(text, &a); err != nil {
		panic(err)
	}
	a.Space = "http://monitoring.amazonaws.com/doc/2010-08-01/"
	for i := range a.Result.Data {
		d := &a.Result.Data[i]
		half := len(d.Times) / 2
		if token == "" {
			d.Status, d.Times, d.Values = "PartialData", d.Times[:half], d.Values[:half]
		} else {
			d.Times, d.Values = d.Times[half:], d.Values[half:]
		}
	}
	if token == "" && !torn {
		a.Result.NextToken = "second"
	}
	out, err := xml.Marshal(a)
	if err != nil {
		panic(err)
	}
	return out
}

// put sends values of a metric, each at its time.
func (m *moto) put(t *testing.T, s Spec, data []types.MetricDatum) {
	t.Helper()
	s.Endpoint = m.url
	client, err := s.client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	input := &cloudwatch.PutMetricDataInput{Namespace: aws.String("AWS/EBS"), MetricData: data}
	if _, err := client.PutMetricData(t.Context(), input); err != nil {
		t.Fatal(err)
	}
}

func datum(dimension, id, name string, at time.Time, value float64) types.MetricDatum {
	return types.MetricDatum{MetricName: &name, Timestamp: &at, Value: &value,
		Dimensions: []types.Dimension{{Name: &dimension, Value: &id}}}
}

// demandCredentials lets moto refuse calls that are signed with unknown keys.
func (m *moto) demandCredentials(t *testing.T) {
	t.Helper()
	r, err := http.Post(m.url+"/moto-api/reset-auth", "text/plain", strings.NewReader("0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("reset-auth: %s", r.Status)
	}
}

// throttle answers as CloudWatch does when there are too many calls.
func throttle(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprint(w, `<ErrorResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/">`+
		`<Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`)
}

// setAccount sets the environment in which the chain of credentials looks.
func setAccount(t *testing.T, key string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN",
		"AWS_ENDPOINT_URL", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
}
