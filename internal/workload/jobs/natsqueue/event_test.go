package natsqueue

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
)

func TestRead(t *testing.T) {
	created := func(key string) string {
		return `{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "` + key + `"}}}]}`
	}
	for message, want := range map[string]struct {
		name string
		skip bool
		says string
	}{
		"videos/a.mp4\n":              {name: "videos/a.mp4"},
		created("videos/a%3Db+c.mp4"): {name: "videos/a=b c.mp4"},
		created("%zz"):                {says: "not URL-encoded"},
		created(""):                   {says: "0 bytes"},
		`{"Event": "s3:TestEvent"}`:   {skip: true},
		`{"Records": []}`:             {says: "event of 0 objects"},
		`{"Records": [{}, {}]}`:       {says: "event of 2 objects"},
		`{not JSON`:                   {says: "neither a name nor the event"},
		" ":                           {says: "0 bytes"},
		strings.Repeat("x", 2000):     {says: "2000 bytes"},
		`{"Records": [{"eventName": "s3:ObjectRemoved:Delete"}]}`:     {skip: true},
		`{"Records": [{"s3": {"object": {"key": "no-event-name"}}}]}`: {name: "no-event-name"},
	} {
		name, skip, err := Read([]byte(message))
		if name != want.name || skip != want.skip || (err != nil) != (want.says != "") || err != nil &&
			!strings.Contains(err.Error(), want.says) {
			t.Errorf("Read(%.60q) = %q, %v, %v, want %+v", message, name, skip, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a"))
	f.Add([]byte(`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "a+b"}}}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		name, skip, err := Read(message)
		if ok := err == nil && !skip; ok != (name != "") || len(name) > jobs.MaxName {
			t.Errorf("Read(%q) = %q, %v, %v", message, name, skip, err)
		}
	})
}
