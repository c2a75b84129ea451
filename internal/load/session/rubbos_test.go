package session

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// pages is a site of three interactions, b reached from a alone.
func pages() site.Site {
	return site.Site{{Name: "Home"}, {Name: "ViewA"}, {Name: "ViewB"}}
}

const good = "# A table of our own\n" +
	"From\tHome\tViewA\tViewB\n" +
	"Home\t0\t.2\t.5\t7000\n" +
	"View a\t.6\t0.1\t0\t7000\n" +
	"ViewB\t0\t.3\t0\t7000\n" +
	"Back probability\t0\t.2\t.25\t0\n" +
	"End of Session\t.4\t.2\t.25\t0\n"

func TestParseTable(t *testing.T) {
	c, notes, err := ParseTable(good, pages())
	if err != nil || notes != nil {
		t.Fatal(err, notes)
	}
	want := [][]float64{{0, .6, 0, 0, .4}, {.2, .1, .3, .2, .2}, {.5, 0, 0, .25, .25}}
	for from, row := range want {
		for to, p := range row {
			if got := c.rows[from][to]; math.Abs(got-p) > 1e-9 {
				t.Errorf("from %d to %d: %v, want %v", from, to, got, p)
			}
		}
	}
	if c.hasBack(0) || !c.hasBack(1) {
		t.Error("there is no way back from home, and there is one from ViewA")
	}
}

// TestTableHeader: columns may be in another order than the lines, and the last
// may have think times; what is no header is a title.
func TestTableHeader(t *testing.T) {
	want, _, err := ParseTable(good, pages())
	if err != nil {
		t.Fatal(err)
	}
	swapped := "From\tView_B\tHome\tViewA\tTransition waiting time\n" +
		"Home\t.5\t0\t.2\t7000\nViewA\t0\t.6\t.1\t7000\nViewB\t0\t0\t.3\t7000\n" +
		"Back\t.25\t0\t.2\t0\nEnd of Session\t.25\t.4\t.2\t0\n"
	for name, text := range map[string]string{
		"another order": swapped, "titles": "Site\tOurs\tHome\nA\tB\n" + good,
		"as RUBBoS has it": "RUBBoS Transition Table\tOurs\n\n\"To >>>\n" + strings.Replace(good, "From\t", " From vvvv  \"\t", 1) + "\n \n# the end\t1\n",
	} {
		c, notes, err := ParseTable(text, pages())
		if err != nil || notes != nil {
			t.Errorf("%s: %v, %v", name, err, notes)
			continue
		}
		for from := range 3 {
			for to := range 5 {
				if got, want := c.rows[from][to], want.rows[from][to]; got != want {
					t.Errorf("%s: from %d to %d: %v, want %v", name, from, to, got, want)
				}
			}
		}
	}
}

// TestTableSums: what does not sum to 1 is told, with what is done, where a
// session comes there.
func TestTableSums(t *testing.T) {
	text := strings.NewReplacer("\t0.1\t", "\t0.238\t", "ViewB\t0\t.3", "ViewB\t0\t0", "Back probability\t0", "Back probability\t0.005").Replace(good)
	text = strings.Replace(text, "End of Session\t.4\t.2", "End of Session\t.39\t.5", 1)
	c, notes, err := ParseTable(text, pages())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"column Home sums to 0.995 instead of 1: each of its probabilities is divided by that (RUBBoS would let the user stay there for the missing 0.005)",
		"column ViewA sums to 1.138 instead of 1: each of its probabilities is divided by that (RUBBoS would cut 0.138 off the last lines)",
		"1 of 3 interactions are never reached from Home",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for from := range 3 {
		sum := 0.0
		for to := range 5 {
			sum += c.rows[from][to]
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("the row of %d sums to %v", from, sum)
		}
	}
	if got := c.rows[0][1]; math.Abs(got-.6/.995) > 1e-9 {
		t.Errorf("from Home to ViewA: %v, want %v", got, .6/.995)
	}
}

// TestTableRefused: what cannot be meant is refused, with the place.
func TestTableRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"a stranger":          {"View a\t", "ViewC\t", `line 4 of the transition table: "ViewC" is no interaction of the site`},
		"negative":            {"\t.2\t.5\t", "\t-.2\t.5\t", "from ViewA to Home it has -0.2; a probability is from 0 to 1"},
		"more than 1":         {"\t.2\t.5\t", "\t1.2\t.5\t", "a probability is from 0 to 1"},
		"not a number":        {"\t.2\t.5\t", "\tNaN\t.5\t", "a probability is from 0 to 1"},
		"an unknown column":   {"From\tHome\tViewA", "From\tHome\tViewC", `line 2 of the transition table: column 2 is named "ViewC", which is no interaction of the site`},
		"a nameless column":   {"From\tHome", "From\t\tHome", `column 1 is named ""`},
		"one known column":    {"From\tHome\tViewA\tViewB", "From\tHome\tC\tD", `column 2 is named "C"`},
		"a column twice":      {"From\tHome\tViewA\tViewB", "From\tHome\tViewA\tView_A", "two columns are named ViewA: give each"},
		"columns twice":       {"# A table of our own", "From\tViewA\tHome\tViewB", "line 2 of the transition table: a line above it names the columns, too"},
		"no think times":      {"\tViewB\nHome\t0\t.2\t.5\t7000", "\tViewB\tThink\nHome\t0\t.2\t.5", `the line about Home has 3 numbers, and 4 columns are named: the last, "Think"`},
		"a wrong last column": {"\tViewB\nHome", "\tViewC\nHome", "it needs one for each of 2 columns"},
		"a comma":             {"\t.2\t.5\t", "\t0,2\t.5\t", "line 3 of the transition table: a field is no number"},
		"a column missing":    {"View a\t.6\t", "View a\t", "a probability is from 0 to 1"},
		"twice":               {"ViewB\t0", "ViewA\t0", "two lines are about ViewA"},
		"no home":             {"\nHome\t0\t.2\t.5\t7000", "", "it has no line about Home, the home page"},
		"spaces":              {"\t", "  ", "line 2 of the transition table: no tabs between its fields"},
		"a row of spaces":     {"View a\t.6\t0.1\t0\t7000", "View a .6 0.1 0 7000", `line 4 of the transition table: no tabs between its fields: "View a .6 0.1 0 7000"`},
		"columns of spaces":   {"From\tHome\tViewA\tViewB", "From ViewB Home ViewA", "line 2 of the transition table: no tabs between its fields"},
		"a title":             {"# A table", "A table", "line 1 of the transition table: no tabs between its fields: \"A table of our own\"; write one before each of them, or # before a title"},
		"nothing":             {good, "", "it has no line about Home"},
		"a dead end":          {"\t.2\t.25\t0\nEnd of Session\t.4\t.2\t.25\t0", "\t.2\t0\t0\nEnd of Session\t.4\t.2\t0\t0", ""},
	} {
		text := strings.ReplaceAll(good, c.old, c.new)
		if name == "a dead end" {
			text = strings.Replace(text, "Home\t0\t.2\t.5", "Home\t0\t.2\t0", 1)
			c.want = "column ViewB sums to 0, and sessions come there"
		}
		_, _, err := ParseTable(text, pages())
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestParseProperties(t *testing.T) {
	p, notes, err := ParseProperties("# RUBBoS\nhttpd_port = 80\nworkload_number_of_clients_per_node = 500\n" +
		"workload_user_transition_table = a/user.txt\nworkload_author_transition_table=a/author.txt\nworkload_maximum_number_of_transitions = 1000\n" +
		"workload_use_tpcw_think_time = no\nworkload_up_ramp_time_in_ms = 150000\nworkload_up_ramp_slowdown_factor = 2\n" +
		"workload_session_run_time_in_ms = 900000\r\nworkload_down_ramp_time_in_ms = 30000\nworkload_percentage_of_author = 10\n" +
		"workload_remote_client_nodes = \ndatabase_number_of_authors = 50\ndatabase_number_of_users = 500000\n")
	if err != nil {
		t.Fatal(err)
	}
	up, run, down, share := 150*time.Second, 15*time.Minute, 30*time.Second, .1
	want := Properties{Users: 500, UserTable: "a/user.txt", AuthorTable: "a/author.txt", MaxSteps: 1000, RampUp: &up, Run: &run,
		RampDown: &down, AuthorShare: &share, Accounts: 500000, Authors: 50}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "workload_use_tpcw_think_time") || !strings.Contains(notes[1], "slowdown") {
		t.Errorf("notes %q, want one about think times, one about slowdown", notes)
	}
	for value, told := range map[string]int{"1": 0, "1.0": 0, "10": 1, "100": 1, "1.05": 1, "0.1": 1, "": 1, "x": 1} {
		for _, key := range []string{"workload_up_ramp_slowdown_factor", "workload_down_ramp_slowdown_factor"} {
			if _, notes, err := ParseProperties(key + " = " + value); err != nil || len(notes) != told {
				t.Errorf("%s = %s: notes %q, %v; want %d", key, value, notes, err, told)
			}
		}
	}
	for _, text := range []string{"workload_number_of_clients_per_node", "workload_number_of_clients_per_node: 7", "workload_number_of_clients_per_node 7", "a: b = 7",
		"workload_number_of_clients_per_node = \\\n7", "workload_number_of_clients_per_node = many", "workload_percentage_of_author = 101", "workload_up_ramp_time_in_ms = -1"} {
		if _, _, err := ParseProperties(text); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMixNames: all that a site lacks is told, always in the same order; and all that a
// mix comes to is among what it is held to.
func TestMixNames(t *testing.T) {
	for range 20 {
		_, err := Mix(BrowseOnly, site.Site{{Name: "StoriesOfTheDay"}, {Name: "Browse"}, {Name: "ViewStory"}, {Name: "ViewComment"}, {Name: "OlderStories"}, {Name: "Search"}})
		want := "the mix browse_only visits what the site does not have: BrowseCategories, BrowseStoriesInCategory, SearchInComments, SearchInStories, SearchInUsers; give"
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Fatalf("Mix = %v, want %q", err, want)
		}
	}
	for name, rows := range map[string]map[string]ways{BrowseOnly: rowsOf(BrowseOnly), ReadWrite: rowsOf(ReadWrite),
		Author: rowsOf(Author)} {
		for from, row := range rows {
			for to := range row {
				if rows[to] == nil && to != "Back" && to != "End" {
					t.Errorf("the mix %s goes from %s to %s, after which it says nothing", name, from, to)
				}
			}
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add(good)
	f.Add(strings.ReplaceAll(good, "\t0.1\t", "\t1\t"))
	f.Add("Home\t1\nEnd\t1\n")
	f.Add(strings.Replace(good, "View a\t.6\t0.1", "View a .6 0.1", 1))
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := ParseTable(text, pages())
		if err != nil {
			if !errors.Is(err, model.ErrUsage) {
				t.Errorf("%v is not ErrUsage", err)
			}
			return
		}
		for from := range 3 {
			sum := 0.0
			for to := range 5 {
				if p := c.rows[from][to]; p < 0 || p > 1 {
					t.Errorf("from %d to %d: %v", from, to, p)
				}
				sum += c.rows[from][to]
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("the row of %d sums to %v", from, sum)
			}
		}
	})
}

func FuzzParseProperties(f *testing.F) {
	f.Add("workload_number_of_clients_per_node = 500\n#x\nworkload_percentage_of_author=10")
	f.Fuzz(func(t *testing.T, text string) {
		if p, _, err := ParseProperties(text); err == nil &&
			(p.Users < 0 || p.AuthorShare != nil && (*p.AuthorShare < 0 || *p.AuthorShare > 1) || p.RampUp != nil &&
				*p.RampUp < 0) {
			t.Errorf("%+v", p)
		}
	})
}
