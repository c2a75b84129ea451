package natsqueue

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/jobs"
)

// event is what object stores send: Amazon S3, MinIO, versitygw and others.
type event struct {
	Event   string   `json:"Event"` // of a test message
	Records []record `json:"Records"`
}

type record struct {
	EventName        string            `json:"eventName"`
	ResponseElements map[string]string `json:"responseElements"`
	S3               struct {
		Configuration string `json:"configurationId"`
		Object        struct {
			Key  string `json:"key"`
			ETag string `json:"eTag"`
		} `json:"object"`
	} `json:"s3"`
}

// Item is what a message tells of.
type Item struct {
	// Names are those that the item can have, the likeliest first. There are several only
	// if the key of an event can be read in several ways.
	Names []string
	ETag  string // of the object, as the event says; empty: it does not
}

// Read finds out which item a message is: its text is the name, or it is an event of an
// object store, which names a new object. skip: the event is of something else.
func Read(message []byte) (item Item, skip bool, err error) {
	text := strings.TrimSpace(string(message))
	item.Names = []string{text}
	if strings.HasPrefix(text, "{") {
		var e event
		if err := json.Unmarshal(message, &e); err != nil {
			return Item{}, false, fmt.Errorf("the message is neither a name nor the event of an object store: %w", err)
		}
		if item, skip, err = e.item(); skip || err != nil {
			return Item{}, skip, err
		}
	}
	for _, name := range item.Names {
		if name == "" || len(name) > jobs.MaxName {
			return Item{}, false, fmt.Errorf("the message names an item in %d bytes; a name has 1 to %d", len(name),
				jobs.MaxName)
		}
	}
	return item, false, nil
}

func (e event) item() (item Item, skip bool, err error) {
	switch {
	case len(e.Records) == 0 && e.Event != "":
		return Item{}, true, nil
	case len(e.Records) != 1:
		return Item{}, false, fmt.Errorf("the message is an event of %d objects; it must be of one", len(e.Records))
	}
	r := e.Records[0]
	if r.EventName != "" && !strings.Contains(r.EventName, "ObjectCreated") {
		return Item{}, true, nil
	}
	return Item{Names: r.keys(), ETag: strings.Trim(r.S3.Object.ETag, `"`)}, false, nil
}

// keys are the ways to read the key of an event. Amazon and MinIO encode keys as forms
// encode values: a space is a plus. versitygw does not encode them; others may encode them
// as paths.
func (r record) keys() []string {
	written := r.S3.Object.Key
	keys := []string{written}
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if key, err := decode(written); err == nil && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if !r.literal() {
		slices.Reverse(keys)
	}
	return keys
}

// literal reports whether versitygw wrote the event. It leaves out the ids of the request,
// which Amazon and MinIO give, and its configurations have names of their own.
func (r record) literal() bool {
	return strings.HasSuffix(r.S3.Configuration, "-global") && r.ResponseElements["x-amz-request-id"] == ""
}
