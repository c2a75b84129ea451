package natsqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/scalebench/scalebench/internal/jobs"
)

// event is what object stores send: Amazon S3, MinIO, versitygw and others.
type event struct {
	Event   string `json:"Event"` // of a test message
	Records []struct {
		EventName string `json:"eventName"`
		S3        struct {
			Object struct {
				Key string `json:"key"`
			} `json:"object"`
		} `json:"s3"`
	} `json:"Records"`
}

// Read finds out which item a message is: its text is the name, or it is an event of an
// object store, which names a new object. skip: the event is of something else.
func Read(message []byte) (name string, skip bool, err error) {
	name = strings.TrimSpace(string(message))
	if strings.HasPrefix(name, "{") {
		var e event
		if err := json.Unmarshal(message, &e); err != nil {
			return "", false, fmt.Errorf("the message is neither a name nor the event of an object store: %w", err)
		}
		if name, skip, err = e.object(); skip || err != nil {
			return "", skip, err
		}
	}
	if name == "" || len(name) > jobs.MaxName {
		return "", false, fmt.Errorf("the message names an item in %d bytes; a name has 1 to %d", len(name), jobs.MaxName)
	}
	return name, false, nil
}

func (e event) object() (key string, skip bool, err error) {
	switch {
	case len(e.Records) == 0 && e.Event != "":
		return "", true, nil
	case len(e.Records) != 1:
		return "", false, fmt.Errorf("the message is an event of %d objects; it must be of one", len(e.Records))
	}
	r := e.Records[0]
	if r.EventName != "" && !strings.Contains(r.EventName, "ObjectCreated") {
		return "", true, nil
	}
	// Events have keys as forms have values: a space is a plus.
	if key, err = url.QueryUnescape(r.S3.Object.Key); err != nil {
		return "", false, errors.New("the message is an event whose s3.object.key is not URL-encoded")
	}
	return key, false, nil
}
