package objectstore

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestValidate(t *testing.T) {
	workloadtest.Validate(t, Kind(), [][2]string{
		{`{"bucket": "bench"}`, ""},
		{`{"bucket": "bench", "preset": "paper", "endpoint": "https://oss-cn-hangzhou.aliyuncs.com", "path_style": "never"}`, ""},
		{`{"bucket": "bench", "retries": 0, "max_errors": 0, "verify": false, "operation": "get", "keys": "hot"}`, ""},
		{`{}`, "bucket"},
		{`{"bucket": "Bench"}`, "bucket"},
		{`{"bucket": "be..nch"}`, "bucket"},
		{`{"bucket": "bench", "endpoint": "127.0.0.1:7070"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "ftp://server"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "http://server/bucket"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "https://key:secret@server"}`, "endpoint"},
		{`{"bucket": "bench", "path_style": "maybe"}`, "path_style"},
		{`{"bucket": "bench", "preset": "cloud"}`, "preset"},
		{`{"bucket": "bench", "operation": "upload", "size": "1MB", "retries": 0}`, ""},
		{`{"bucket": "bench", "operation": "upload", "count": 3}`, "count"},
		{`{"bucket": "a-name-that-is-too-long-for-an-id", "operation": "upload"}`, "bucket"},
		{`{"bucket": "bench", "operation": "post"}`, "operation"},
		{`{"bucket": "bench", "keys": "cold"}`, "keys"},
		{`{"bucket": "bench", "prefix": "/a"}`, "prefix"},
		{`{"bucket": "bench", "prefix": "a/../b"}`, "prefix"},
		{`{"bucket": "bench", "prefix": ""}`, "prefix"},
		{`{"bucket": "bench", "size": "15B"}`, "size"},
		{`{"bucket": "bench", "size": "6GiB"}`, "size"},
		{`{"bucket": "bench", "concurrency": 5000}`, "concurrency"},
		{`{"bucket": "bench", "count": -1}`, "count"},
		{`{"bucket": "bench", "count": 10, "duration": "10s"}`, "count"},
		{`{"bucket": "bench", "duration": "10ms"}`, "duration"},
		{`{"bucket": "bench", "retries": -1}`, "retries"},
		{`{"bucket": "bench", "max_errors": 1.5}`, "max_errors"},
		{`{"bucket": "bench", "get_share": -0.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "mixed", "get_share": 1.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "mixed", "get_share": 0, "objects": 3}`, ""},
		{`{"bucket": "bench", "operation": "get", "objects": 3}`, ""},
		{`{"bucket": "bench", "operation": "get", "get_share": 0.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "put", "objects": 3}`, "objects"},
		{`{"bucket": "bench", "preset": "paper", "objects": 3}`, "objects"},
		{`{"bucket": "bench", "objects": -5}`, "objects"},
		{`{"bucket": "bench", "request_timeout": "1ms"}`, "request_timeout"},
	})
}

func TestSettings(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	tests := []struct {
		params string
		want   settings
	}{
		{`{}`, settings{operation: store.Put, size: 8 << 20, concurrency: cores, duration: 30 * time.Second}},
		{`{"preset": "paper"}`, settings{operation: store.PutDelete, size: 1e8, concurrency: cores, count: 3200}},
		{`{"preset": "paper", "count": 10, "size": "1MB", "concurrency": 3}`, settings{operation: store.PutDelete, size: 1e6, concurrency: 3, count: 10}},
		{`{"preset": "paper", "duration": "1m"}`, settings{operation: store.PutDelete, size: 1e8, concurrency: cores, duration: time.Minute}},
		{`{"operation": "get", "concurrency": 3}`, settings{operation: store.Get, size: 8 << 20, concurrency: 3, duration: 30 * time.Second, objects: 12}},
		{`{"operation": "mixed", "objects": 5, "count": 7, "concurrency": 3}`, settings{operation: store.Mixed, getShare: 0.5, size: 8 << 20, concurrency: 3, count: 7, objects: 5}},
		{`{"operation": "mixed", "get_share": 0, "concurrency": 1, "count": 7}`, settings{operation: store.Mixed, size: 8 << 20, concurrency: 1, count: 7, objects: 4}},
	}
	for _, tt := range tests {
		p, ok := Kind().New().(*Params)
		if !ok {
			t.Fatal("New returns something else")
		}
		if err := json.Unmarshal([]byte(tt.params), p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, p.settings(), cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", tt.params, diff)
		}
		if p.Estimate() != tt.want.duration {
			t.Errorf("Estimate() = %v, want %v", p.Estimate(), tt.want.duration)
		}
	}
}
