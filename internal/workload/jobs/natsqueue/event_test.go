package natsqueue

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/jobs"
)

func TestRead(t *testing.T) {
	created := func(key string) string {
		return `{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "` + key + `"}}}]}`
	}
	for message, want := range map[string]struct {
		Item
		skip bool
		says string
	}{
		"videos/a.mp4\n":            {Item: named("videos/a.mp4")},
		"a+b%20c":                   {Item: named("a+b%20c")},
		created("videos/c.mp4"):     {Item: named("videos/c.mp4")},
		created("a%3Db+c"):          {Item: named("a=b c", "a=b+c", "a%3Db+c")},
		created("100%zz"):           {Item: named("100%zz")},
		created(""):                 {says: "0 bytes"},
		amazonEvent:                 {Item: Item{[]string{"red flower.jpg", "red+flower.jpg"}, "d41d8cd98f00b204"}},
		versityEvent:                {Item: Item{[]string{"a+b%20c", "a+b c", "a b c"}, "9d9b2d52a5312cd9"}},
		`{"Event": "s3:TestEvent"}`: {skip: true},
		`{"Records": []}`:           {says: "event of 0 objects"},
		`{"Records": [{}, {}]}`:     {says: "event of 2 objects"},
		`{not JSON`:                 {says: "neither a name nor the event"},
		" ":                         {says: "0 bytes"},
		strings.Repeat("x", 2000):   {says: "2000 bytes"},
		`{"Records": [{"eventName": "s3:ObjectRemoved:Delete"}]}`:     {skip: true},
		`{"Records": [{"s3": {"object": {"key": "no-event-name"}}}]}`: {Item: named("no-event-name")},
	} {
		item, skip, err := Read([]byte(message))
		if diff := cmp.Diff(want.Item, item); diff != "" || skip != want.skip || (err != nil) != (want.says != "") ||
			err != nil && !strings.Contains(err.Error(), want.says) {
			t.Errorf("Read(%.60q) = skip %v, %v, want %+v\n%s", message, skip, err, want, diff)
		}
	}
}

func named(names ...string) Item { return Item{Names: names} }

// amazonEvent is that of the Amazon S3 user guide ("Event message structure"), for the key
// that its text explains: the object is "red flower.jpg".
const amazonEvent = `{"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-west-2",
	"eventTime": "1970-01-01T00:00:00.000Z", "eventName": "ObjectCreated:Put",
	"userIdentity": {"principalId": "AIDAJDPLRKLG7UEXAMPLE"}, "requestParameters": {"sourceIPAddress": "172.16.0.1"},
	"responseElements": {"x-amz-request-id": "C3D13FE58DE4C810",
		"x-amz-id-2": "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD"},
	"s3": {"s3SchemaVersion": "1.0", "configurationId": "testConfigRule",
		"bucket": {"name": "amzn-s3-demo-bucket", "ownerIdentity": {"principalId": "A3NL1KOZZKExample"},
			"arn": "arn:aws:s3:::amzn-s3-demo-bucket"},
		"object": {"key": "red+flower.jpg", "size": 1024, "eTag": "d41d8cd98f00b204",
			"versionId": "096fKKXTRTtl3on89fVO.nfljtsv6qko", "sequencer": "0055AED6DCD90281E5"}}}]}`

// versityEvent was sent by versitygw 1.8.
const versityEvent = `{"Records":[{"eventVersion":"2.2","eventSource":"aws:s3","awsRegion":"us-east-1",
	"eventTime":"2026-11-28T02:36:06Z","eventName":"s3:ObjectCreated:Put",
	"userIdentity":{"PrincipalId":"testaccesskey"},"requestParameters":{"sourceIPAddress":"127.0.0.1"},
	"responseElements":{"x-amz-request-id":"","x-amz-id-2":""},
	"s3":{"s3SchemaVersion":"1.0","configurationId":"webhook-global",
		"bucket":{"name":"bench","ownerIdentity":{"PrincipalId":"testaccesskey"},"arn":"arn:aws:s3:::/bench/a+b%20c"},
		"object":{"key":"a+b%20c","size":4,"eTag":"\"9d9b2d52a5312cd9\"","versionId":null,
			"sequencer":"2"}}}]}`

func FuzzRead(f *testing.F) {
	f.Add([]byte("a"))
	f.Add([]byte(`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "a+b"}}}]}`))
	f.Add([]byte(versityEvent))
	f.Fuzz(func(t *testing.T, message []byte) {
		item, skip, err := Read(message)
		if ok := err == nil && !skip; ok != (len(item.Names) > 0) {
			t.Errorf("Read(%q) = %q, %v, %v", message, item, skip, err)
		}
		for i, name := range item.Names {
			if name == "" || len(name) > jobs.MaxName || slices.Contains(item.Names[:i], name) {
				t.Errorf("Read(%q) = %q", message, item)
			}
		}
	})
}
