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
		words := make([]string, f.n)
		for i := range words {
			words[i] = word(rng)
		}
		return strings.Join(words, " ")
	case "text":
		var b strings.Builder
		for b.Len() < f.n {
			b.WriteString(word(rng) + " ")
		}
		return b.String()[:f.n]
	}
	return f.text
}

func word(rng *rand.Rand) string { return vocabulary[rng.IntN(len(vocabulary))] }

// vocabulary is what users write with; it is read only.
var vocabulary = strings.Fields(`
	acorn amber anchor apple april arrow autumn badger bamboo barley basil beacon birch bottle bridge bronze
	butter button candle canyon carpet castle cedar cello cherry circle clover cobalt copper coral cotton
	cricket crystal dahlia daisy desert dragon eagle ember engine falcon feather fennel ferry finch forest
	fossil fountain garden garlic ginger glacier granite guitar hammer harbor hazel helmet heron honey indigo
	island ivory jasmine jigsaw juniper kettle ladder lagoon lantern lemon lilac linen lobster magnet mango
	maple marble meadow mirror mosaic mountain nectar nickel nutmeg ocean olive onyx orange orchid otter paddle
	paper pebble pepper piano pigeon planet pocket poplar prairie quartz rabbit raven ribbon river rocket saddle
	saffron salmon sapphire shadow silver sparrow spiral summer sunset table temple thistle thunder timber tulip
	tunnel valley velvet violet walnut
`)
