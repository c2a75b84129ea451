package objectstore

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Below the prefix every task has a directory of its own:
//
//	scalebench/task-1b671a64-40d5-491e-99b0-da01ff1f3341/.lease
//	scalebench/task-1b671a64-40d5-491e-99b0-da01ff1f3341/9c5b94b1-35ad-49bb-b118-8e8fc24abf80
//
// With random keys the directory is a random UUID (version 4), too, so that
// tasks are spread over the store's partitions. With hot keys it is a UUID that
// begins with the time (version 7), and objects are numbered: all tasks of a
// parallel trial then write next to each other, behind one constant prefix.
const (
	taskWord  = "task-"
	leaseName = ".lease" // sorts before all others
)

const uuidForm = `[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

var (
	taskPattern   = regexp.MustCompile(`^` + taskWord + uuidForm + `/$`)
	objectPattern = regexp.MustCompile(`^(\.lease|` + uuidForm + `|[0-9]{12})$`)
)

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as documented
	return format(b, 4)
}

// timeUUID returns a UUID that begins with the time in milliseconds (RFC 9562,
// version 7).
func timeUUID(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as documented
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return format(b, 7)
}

func format(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80 // the RFC's variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newDirectory names the directory of a task, with a slash at its end.
func newDirectory(prefix, keys string, now time.Time) string {
	id := uuid()
	if keys == HotKeys {
		id = timeUUID(now)
	}
	return prefix + "/" + taskWord + id + "/"
}

// isTask says whether a key below prefix is the directory of a task.
func isTask(prefix, dir string) bool {
	name, ok := strings.CutPrefix(dir, prefix+"/")
	return ok && taskPattern.MatchString(name)
}

// isOurs says whether a key in a task's directory is one that tasks write.
func isOurs(dir, key string) bool {
	name, ok := strings.CutPrefix(key, dir)
	return ok && objectPattern.MatchString(name)
}

// object is what is put and got.
type object struct {
	key    string
	header header
}

// newObject names the n-th object of a task.
func newObject(dir, keys string, n int64) *object {
	name := uuid()
	if keys == HotKeys {
		name = fmt.Sprintf("%012d", n)
	}
	return &object{key: dir + name, header: newHeader()}
}
