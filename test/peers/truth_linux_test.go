package peers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// compare runs the engine while packets are recorded.
func compare(t *testing.T, e engine, j job, address string) truth {
	t.Helper()
	capture := filepath.Join(t.TempDir(), "packets")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	stop := record(t, capture, port)
	o, s := e.runTask(t, j)
	stop()
	took := readCapture(t, capture, port)
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	if len(took) != int(total.OK) {
		t.Fatalf("there are %d answers on the wire, and %d at the engine", len(took), total.OK)
	}
	slices.Sort(took)
	out := truth{latency: o.latencies}
	for i, p := range percentiles {
		out.wire[i] = took[min(int(p/100*float64(len(took))), len(took)-1)].Seconds()
		out.service[i] = seconds(total.Service.ValueAtPercentile(p))
		if s.ReceiveLag != nil {
			out.read[i] = seconds(s.ReceiveLag.ValueAtPercentile(p))
		}
	}
	return out
}

func readCapture(t *testing.T, path, port string) []time.Duration {
	t.Helper()
	server, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was read only
	took, err := onWire(bufio.NewReaderSize(f, 1<<20), uint16(server))
	if err != nil {
		t.Fatal(err)
	}
	return took
}

// handover is longer than the kernel keeps packets before tcpdump may read them.
const handover = 2 * time.Second

// lost is what tcpdump says at its end of packets that it was too slow for.
var lost = regexp.MustCompile(`(?m)^([0-9]+) packets dropped by kernel$`)

// record writes the headers of all packets of a port on loopback to a file,
// until the function returned is called, which fails if one is missing.
func record(t *testing.T, path, port string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tcpdump", "--interface", "lo", "-n", "--snapshot-length", "96",
		"--buffer-size", "65536", "--time-stamp-precision", "nano", "--relinquish-privileges", "root", "-w", path, "tcp port "+port)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	begin, err := said.ReadString('\n')
	for err == nil && !strings.Contains(begin, "listening on") {
		begin, err = said.ReadString('\n')
	}
	if err != nil {
		t.Fatalf("tcpdump does not begin: %v", errors.Join(err, cmd.Wait()))
	}
	return func() {
		<-time.After(handover)
		_ = cmd.Process.Signal(syscall.SIGINT) // it ends, or has ended: then Wait says so
		rest, readErr := io.ReadAll(said)
		if err := errors.Join(readErr, cmd.Wait()); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, rest)
		}
		if m := lost.FindSubmatch(rest); m == nil || !bytes.Equal(m[1], []byte("0")) {
			t.Fatalf("%s has not seen all packets:\n%s", cmd, rest)
		}
	}
}
