package site

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// User is who fills a form.
type User struct {
	Nickname, Password string
	// Name begins the names of accounts that the user makes.
	Name string
}

// fill is what is written into a field.
type fill struct {
	kind string
	n    int
	text string // of a fixed value
}

// longestFill bounds what one field gets, in words or bytes.
const longestFill = 1 << 16

func parseFill(text string) (fill, error) {
	if value, fixed := strings.CutPrefix(text, "="); fixed {
		return fill{kind: "=", text: value}, nil
	}
	kind, count, counted := strings.Cut(text, " ")
	switch kind {
	case "nickname", "password", "new_name":
		if !counted {
			return fill{kind: kind}, nil
		}
	case "words", "text":
		if n, err := strconv.Atoi(count); err == nil && n >= 1 && n <= longestFill {
			return fill{kind: kind, n: n}, nil
		}
	}
	return fill{}, fmt.Errorf("%q says nothing that can be written there; use words N, text N (N to %d), nickname, password, new_name, or =VALUE", text, longestFill)
}

// write returns what a user writes.
func (f fill) write(u User, rng *rand.Rand) string {
	switch f.kind {
	case "nickname":
		return u.Nickname
	case "password":
		return u.Password
	case "new_name":
		return u.Name + "-" + strconv.FormatUint(rng.Uint64(), 36)
	case "words":
		return Words(rng, f.n)
	case "text":
		return Text(rng, f.n)
	}
	return f.text
}

// Words are n words, at random: those of which the stories and comments of the
// built-in board are made, so that a search for one finds something.
func Words(rng *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
	}
	return b.String()
}

// Text is n bytes of words, at random.
func Text(rng *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// vocabulary is read only.
var vocabulary = [...]string{
	"acorn", "amber", "anchor", "apple", "april", "arrow", "autumn", "badger", "bamboo", "barley", "basil", "beacon", "birch", "bottle", "bridge", "bronze",
	"butter", "button", "candle", "canyon", "carpet", "castle", "cedar", "cello", "cherry", "circle", "clover", "cobalt", "copper", "coral", "cotton", "cricket",
	"crystal", "dahlia", "daisy", "desert", "dragon", "eagle", "ember", "engine", "falcon", "feather", "fennel", "ferry", "finch", "forest", "fossil", "fountain",
	"garden", "garlic", "ginger", "glacier", "granite", "guitar", "hammer", "harbor", "hazel", "helmet", "heron", "honey", "indigo", "island", "ivory", "jasmine",
	"jigsaw", "juniper", "kettle", "ladder", "lagoon", "lantern", "lemon", "lilac", "linen", "lobster", "magnet", "mango", "maple", "marble", "meadow", "mirror",
	"mosaic", "mountain", "nectar", "nickel", "nutmeg", "ocean", "olive", "onyx", "orange", "orchid", "otter", "paddle", "paper", "pebble", "pepper", "piano",
	"pigeon", "planet", "pocket", "poplar", "prairie", "quartz", "rabbit", "raven", "ribbon", "river", "rocket", "saddle", "saffron", "salmon", "sapphire", "shadow",
	"silver", "sparrow", "spiral", "summer", "sunset", "table", "temple", "thistle", "thunder", "timber", "tulip", "tunnel", "valley", "velvet", "violet", "walnut",
}
