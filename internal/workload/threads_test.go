package workload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestThreads: what a file says is so many on a node, and is told as it was said.
func TestThreads(t *testing.T) {
	cores, each := 1+rand.IntN(64), 2+rand.IntN(40)
	for _, tt := range []struct {
		text  string
		cores int
		want  int
		bad   string
	}{
		{"3", cores, 3, ""}, {"0", cores, 0, ""}, {`"all"`, cores, cores, ""}, {`"all"`, 0, 1, ""},
		{fmt.Sprintf(`"%d per core"`, each), cores, cores * each, ""},
		{`"all"`, MaxThreads, MaxThreads, ""}, {`"2 per core"`, MaxThreads/2 + 1, 0, "fewer for each core"},
		{`"0 per core"`, cores, 0, "use a number"}, {`"per core"`, cores, 0, "use a number"},
		{`"1.5 per core"`, cores, 0, "use a number"}, {`"two"`, cores, 0, "use a number"}, {`"4"`, cores, 0, "use a number"},
	} {
		var threads Threads
		err := json.Unmarshal([]byte(tt.text), &threads)
		var got int
		if err == nil {
			got, err = threads.On(tt.cores)
		}
		if (err == nil) != (tt.bad == "") || err != nil && !strings.Contains(err.Error(), tt.bad) || got != tt.want {
			t.Errorf("%s on %d cores = %d, %v; want %d, %q", tt.text, tt.cores, got, err, tt.want, tt.bad)
		}
		if again, err := json.Marshal(threads); tt.bad == "" && (err != nil || string(again) != tt.text) {
			t.Errorf("%s was told as %s, %v", tt.text, again, err)
		}
	}
}
