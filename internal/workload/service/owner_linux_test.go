package service

import "testing"

// TestOwnerLeft: what is removed belongs to a process that is known to be dead. On a
// volume that machines share, the processes of others cannot be seen.
func TestOwnerLeft(t *testing.T) {
	self, err := selfOwner()
	if err != nil {
		t.Fatal(err)
	}
	self.machine = "aa"
	dead := self
	dead.Start++ // the id was given to another process since
	for name, c := range map[string]struct {
		change func(*owner)
		want   bool
	}{
		"the same namespace":            {func(*owner) {}, true},
		"another namespace":             {func(o *owner) { o.Space = "pid:[1]" }, false},
		"before the restart":            {func(o *owner) { o.Boot = "b" }, true},
		"before it, another namespace":  {func(o *owner) { o.Boot, o.Space = "b", "pid:[1]" }, true},
		"another machine":               {func(o *owner) { o.Boot, o.machine = "b", "bb" }, false},
		"a machine that is not known":   {func(o *owner) { o.Boot, o.machine = "b", unknownMachine }, false},
		"a living one":                  {func(o *owner) { o.Start-- }, false},
		"a living one under its old id": {func(o *owner) { o.Start, o.machine = o.Start-1, "bb" }, false},
		"a dead one under its old id":   {func(o *owner) { o.machine = "bb" }, true},
	} {
		o := dead
		c.change(&o)
		if got := self.left(o.String() + "-db-server"); got != c.want {
			t.Errorf("%s: left(%s) = %t, want %t", name, o, got, c.want)
		}
	}
	self.machine = unknownMachine
	dead.Boot, dead.machine = "b", unknownMachine
	if self.left(dead.String()) {
		t.Error("a machine that cannot be known has restarted")
	}
	for _, name := range []string{"agent", "1-2", "1-2-3-4", "x-2-aa-b-c", "lost+found"} {
		if self.left(name) {
			t.Errorf("left(%s), which is none of ours", name)
		}
	}
}
