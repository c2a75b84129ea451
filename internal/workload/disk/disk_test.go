package disk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// prepare fails the test, and cleans up after it.
func prepare(t *testing.T, p *Params, env *workload.Env) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Errorf("Cleanup() = %v", err)
		}
	})
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatalf("Prepare() = %v", err)
	}
}

// TestReal runs fio on the file system of the tests.
func TestReal(t *testing.T) {
	needFio(t)
	tests := []struct{ name, params string }{
		{"write in order, direct", `{"size": "16MiB", "duration": "1s"}`},
		{"write once through the cache", `{"preset": "paper", "size": "128MiB"}`},
		{"mixed with ramp, depth and jobs", `{"size": "16MiB", "pattern": "random", "operation": "mixed", "read_share": 50, "block_size": "4KiB", "depth": 4, "jobs": 2, "ramp": "1s", "duration": "2s"}`},
		{"read once, direct", `{"size": "256MiB", "operation": "read", "duration": "0s", "block_size": "64KiB"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			env, r, words := environment(t, folder)
			p := params(t, tt.params)
			prepare(t, p, env)
			if err := p.Run(t.Context(), env); err != nil {
				t.Fatalf("Run() = %v; fio said %s", err, words)
			}
			checkReport(t, p, env, r)
			if err := p.Cleanup(t.Context(), env); err != nil || len(left(t, folder)) > 0 {
				t.Errorf("after Cleanup() = %v there are %q, want nothing", err, left(t, folder))
			}
		})
	}
}

// checkReport checks that samples and progress tell the same, and that fio's
// report was kept so that it can be read.
func checkReport(t *testing.T, p *Params, env *workload.Env, r *workloadtest.Record) {
	t.Helper()
	for _, w := range directions {
		if !w.used(p.plan) {
			if len(r.Readings[w.throughput()]) > 0 {
				t.Errorf("there is progress of %s", w.throughput())
			}
			continue
		}
		for _, metric := range []string{w.throughput(), w.iops()} {
			value, rate := r.Find(metric).Value, rate(r, metric)
			if value <= 0 || math.Abs(rate/value-1) > 0.02 || r.Find(metric).Resource != w.resource {
				t.Errorf("%s = %+v, its progress says %v (%v)", metric, r.Find(metric), rate, r.Readings[metric])
			}
		}
		if l := r.Find(w.latency() + "_p99"); l.Value <= 0 || !l.Info || r.FindHistogram(w.latency()).Encoded == "" {
			t.Errorf("%s_p99 = %+v, want a value for information, and a histogram", w.latency(), l)
		}
	}
	if len(r.ExitCodes) != 1 || r.ExitCodes[0] != 0 {
		t.Errorf("exit codes %v, want one 0: that of the measurement", r.ExitCodes)
	}
	if out := env.Stdout.(*bytes.Buffer).Bytes(); !json.Valid(out) {
		t.Errorf("standard output is not JSON: %.300s …", out)
	}
}

func TestCancel(t *testing.T) {
	needFio(t)
	env, r, _ := environment(t, t.TempDir())
	p := params(t, `{"size": "16MiB", "duration": "10m"}`)
	prepare(t, p, env)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := p.Run(ctx, env); !errors.Is(err, context.DeadlineExceeded) || len(r.Samples) > 0 {
		t.Errorf("Run() = %v with %v, want the end of the context and no sample", err, r.Samples)
	}
	if took := time.Since(began); took > killAfter+3*time.Second {
		t.Errorf("Run returned after %v, want promptly", took)
	}
}

func TestPrepareRefuses(t *testing.T) {
	needFio(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "mine")
	if err := os.WriteFile(file, bytes.Repeat([]byte("mine"), 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, params, want string }{
		{"unknown volume", `{"volume": "fast"}`, `no volume "fast": it has data`},
		{"no such folder", `{"path": "` + folder + `/no/such"}`, "is missing on this node"},
		{"beyond the file system", `{"size": "8EiB"}`, "smaller size"},
		{"existing file", `{"path": "` + file + `"}`, "destroy: true"},
		{"less than the size", `{"path": "` + file + `", "operation": "read", "size": "2MiB"}`, "smaller size"},
		{"new and read", `{"operation": "read", "layout": false}`, "layout: false"},
		{"no file", `{"path": "/dev/null"}`, "block device"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, _, _ := environment(t, folder)
			text := strings.Replace(tt.params, "8EiB", "7EiB", 1)
			p := params(t, text)
			err := p.Prepare(t.Context(), env)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare(%s) = %v, want %q", text, err, tt.want)
			}
			if err := p.Cleanup(t.Context(), env); err != nil {
				t.Error(err)
			}
		})
	}
	if got := left(t, folder); len(got) != 1 || got[0] != "mine" {
		t.Errorf("there are %q, want only what was there", got)
	}
}

// TestExistingFile reads a user's file: it stays as it is.
func TestExistingFile(t *testing.T) {
	needFio(t)
	file := filepath.Join(t.TempDir(), "mine")
	want := bytes.Repeat([]byte("mine"), 1<<20)
	if err := os.WriteFile(file, want, 0o400); err != nil {
		t.Fatal(err)
	}
	env, r, words := environment(t, t.TempDir())
	p := params(t, `{"path": "`+file+`", "operation": "read", "duration": "1s"}`)
	prepare(t, p, env)
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatalf("Run() = %v; fio said %s", err, words)
	}
	if got := r.Find("disk_size").Value; got != float64(len(want)) {
		t.Errorf("disk_size = %v, want the file's %d", got, len(want))
	}
	if err := p.Cleanup(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has changed (%v)", err)
	}
}

func TestPlace(t *testing.T) {
	two := map[string]string{"b": "/b", "a": "/a"}
	tests := []struct {
		name, params string
		volumes      map[string]string
		want, err    string
	}{
		{"the only one", `{}`, map[string]string{"a": "/a"}, "/a", ""},
		{"by name", `{"volume": "b"}`, two, "/b", ""},
		{"in this order", `{"volumes": ["b", "a"]}`, two, "/b /a", ""},
		{"all", `{"preset": "paper"}`, two, "/a /b", ""},
		{"one for the preset", `{"preset": "paper", "volume": "b"}`, two, "/b", ""},
		{"which one", `{}`, two, "", "volumes a, b"},
		{"none", `{}`, nil, "/task", ""},
		{"none of that name", `{"volume": "a"}`, nil, "", "no volumes"},
		{"a path wins", `{"path": "/p"}`, two, "/p", ""},
	}
	for _, tt := range tests {
		places, _, err := params(t, tt.params).places(&workload.Env{Dir: "/task", Volumes: tt.volumes})
		got := strings.Join(places, " ")
		if got != tt.want || (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: places() = %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

// program replaces fio with a shell script.
func program(t *testing.T, script string) *workload.Env {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo fio-3.33; exit; fi\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "fio"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	env, _, _ := environment(t, t.TempDir())
	env.Environ = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	return env
}

// TestFails plays ends of fio that cannot be brought about at will.
func TestFails(t *testing.T) {
	report := func(code string) string {
		return `printf '{\n"timestamp_ms": 1, "jobs": [{"error": ` + code + `}]\n}\n'`
	}
	for name, tt := range map[string]struct {
		run, want string
		is        error
	}{
		"a bad option":                 {"echo 'fio: unrecognized option' >&2; exit 1", "unrecognized option", nil},
		"input/output error":           {"echo 'fio: io_u error on file' >&2; " + report("5") + "; exit 1", "dmesg", syscall.EIO},
		"an error, but a good end":     {report("5"), "dmesg", syscall.EIO},
		"no right":                     {report("13") + "; exit 1", "may not use", syscall.EACCES},
		"read-only":                    {report("30") + "; exit 1", "read-only", syscall.EROFS},
		"odd blocks":                   {report("22") + "; exit 1", "block_size", syscall.EINVAL},
		"no direct I/O":                {"echo 'fio: destination does not support O_DIRECT' >&2; " + report("22") + "; exit 1", "direct: false", syscall.EINVAL},
		"no room for asynchronous":     {report("11") + "; exit 1", "aio-max-nr", syscall.EAGAIN},
		"no such engine":               {report("38") + "; exit 1", "engine psync", syscall.ENOSYS},
		"the volume is gone":           {report("6") + "; exit 1", "attached", syscall.ENXIO},
		"an error that we do not know": {report("84") + "; exit 1", "fio failed with", syscall.Errno(84)},
		"killed":                       {"kill -9 $$", "signal: killed", nil},
		"nothing printed":              {"echo hello", "no report", nil},
		"nothing done":                 {report("0"), "nothing was measured", nil},
	} {
		env := program(t, tt.run)
		p := params(t, `{"size": "1MiB", "preset": "paper"}`)
		prepare(t, p, env)
		err := p.Run(t.Context(), env)
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: Run() = %v, want %q", name, err, tt.want)
		}
		if r := env.Report.(*workloadtest.Record); len(r.Samples) > 0 {
			t.Errorf("%s: samples %v, want none", name, r.Samples)
		}
	}
}

func TestLayoutFails(t *testing.T) {
	env := program(t, "echo 'fio: io_u error' >&2; exit 1")
	err := params(t, `{"size": "1MiB"}`).Prepare(t.Context(), env)
	if err == nil || !strings.Contains(err.Error(), "laying out") {
		t.Errorf("Prepare() = %v, want it to fail laying out", err)
	}
}

func TestFindFio(t *testing.T) {
	for version, ok := range map[string]bool{
		"fio-3.33": true, "fio-3.39-12-gabcdef": true, "fio-4": true, "fio-2.16": false, "3.33": false, "fio-3x": false, "": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "fio"), []byte("#!/bin/sh\necho "+version+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := workload.FindVersion(t.Context(), "fio", []string{"PATH=" + dir + ":/usr/bin:/bin"}, versionForm, "fio 3 or later")
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "apt-get install fio") {
			t.Errorf("FindVersion of fio at version %q: %v, want it accepted: %v", version, err, ok)
		}
	}
	if _, err := workload.FindVersion(t.Context(), "fio", []string{"PATH=" + t.TempDir()}, versionForm, "fio 3 or later"); err == nil || !strings.Contains(err.Error(), "apt-get install fio") {
		t.Errorf("FindVersion without fio = %v, want how to install", err)
	}
}
