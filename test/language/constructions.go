package language

import "regexp"

// A construction is a way to write that readers had to read twice. Patterns
// are few and sure: one that is wrong in one sentence of twenty does harm.
type construction struct {
	name    string // in exceptions.txt
	pattern *regexp.Regexp
	allowed *regexp.Regexp // taken out of the sentence first; nil: nothing is
	instead string         // what to write
	running bool           // looked for in paragraphs and lists of pages only

	wrong, right string // the same said in both ways
}

// pattern ignores the case of letters, as a message may begin with a small one.
func pattern(expr string) *regexp.Regexp { return regexp.MustCompile("(?i)" + expr) }

var constructions = []construction{
	{
		name: "participle-first",
		pattern: regexp.MustCompile(`^(Told|Said|Known|Shown|Kept|Meant|Given|Left out|Not [a-z]+ed) (is|are|was|were)\b` +
			`|^[A-Z][a-z]+ed (is|are|was|were) (an?|the|what|those|that|only|all|each|every|no)\b`),
		instead: "begin with the subject: \"The table shows …\"",
		wrong:   "Told is a share that is above that of chance.",
		right:   "Shares significantly above chance are reported.",
	},
	{
		name: "verb-before-subject",
		pattern: regexp.MustCompile(`^(Never|Only then) (is|are|was|were|do|does|did) ` +
			`|^(Beside|Below|Above|Among) (it|them|these|this|that) (stands?|is|are)\b`),
		instead: "subject, then verb: \"The table also shows …\"",
		wrong:   "Beside it stand the longest stretch and its time.",
		right:   "The table also shows the longest stretch and its time.",
	},
	{
		name:    "begins-with-of",
		pattern: regexp.MustCompile(`^Of ([^c]|c[^o])`),
		instead: "begin with the subject: \"At most 5 % of …\", \"3 of the 20 …\", \"The largest of …\"",
		wrong:   "Of a metric that is pure noise, any alarm is raised in at most 5 % of cases.",
		right:   "Of course, at most 5 % of pure-noise metrics raise any alarm.",
	},
	{
		name:    "begins-with-nor",
		pattern: pattern(`^nor\b`),
		instead: "\"… does not … either\"",
		wrong:   "Nor does its end.",
		right:   "Its end does not count either.",
	},
	{
		name:    "begins-with-where",
		pattern: regexp.MustCompile(`^Where\b[^?:]*, `),
		running: true,
		instead: "\"If X, do Y\"",
		wrong:   "Where the generator binds, there is no verdict.",
		right:   "If the load generator is the bottleneck, there is no verdict.",
	},
	{
		name: "clause-as-subject",
		pattern: regexp.MustCompile(`^(What|Whether|Who|Which|How|That (the|these|those|an?|it|they|no))` +
			`( [^ ?:]+){7}[^?]*[.]$`),
		running: true,
		instead: "a noun as the subject: \"A saturated resource …\", not \"What is full …\"",
		wrong:   "What is full need not be where it began.",
		right:   "That is why the saturated tier need not be the origin.",
	},
	{
		name:    "that-of-which",
		pattern: pattern(`\b(that|those) of (which|whom|what)\b|\bof which (not|none|no|nothing)\b`),
		instead: "\"whose …\", or two sentences",
		wrong:   "The tier is that of which the queue grows.",
		right:   "It is the tier whose queue grows.",
	},
	{
		name:    "be-it",
		pattern: pattern(`(^|[,;:(–—] ?)be (it|they)\b`),
		instead: "\"whether … or …\"",
		wrong:   "Each host is counted, be it idle or busy.",
		right:   "Each host is counted, whether it is idle or busy. There may be it and others.",
	},
	{
		name:    "nor-none",
		pattern: pattern(`\bnor\b[^.,;:()]*\b(none|nothing|nobody|never|no)\b`),
		instead: "one negation: \"neither … nor …\"",
		wrong:   "It has no interval nor has one to nothing none.",
		right:   "It has neither an interval nor a verdict.",
	},
	{
		name: "double-negation",
		pattern: pattern(`\bnot (un(known|likely|usual|common|certain|clear|measured|like|equal|able)|impossible|without)\b` +
			`|\b(none|nothing|nobody|no one) (that|which|who) (is|are|has|have|was|does|do) (not|no|none|never)\b` +
			`|\bno [a-z]+ (that|which|who) (is|are|has|have|was|does|do) (not|no|none|never)\b`),
		instead: "the positive form: \"known\", \"each has\"",
		wrong:   "There is no host that has no interval.",
		right:   "Each host has an interval, and none has two.",
	},
	{
		name:    "told",
		pattern: pattern(`\btold\b|\btells? (of|nothing)\b`),
		allowed: pattern(`\btold to\b`),
		instead: "reported, known, shows; for \"told apart\": distinguished, or confounded",
		wrong:   "Trials that failed are left out, and told.",
		right:   "Trials that failed are left out, with a warning.",
	},
	{
		name:    "is-said",
		pattern: pattern(`\b(is|are|was|were) said\b|, and said[.;]`),
		allowed: pattern(`\bsaid to\b`),
		instead: "name who shows it: \"The output names …\"",
		wrong:   "Default: guessed, and said.",
		right:   "Default: guessed; the output names the column.",
	},
	{
		name:    "held-against",
		pattern: pattern(`\b(holds?|held|holding) ([a-z]+ ){0,3}against\b`),
		instead: "compare with",
		wrong:   "A pipeline may hold it against a threshold.",
		right:   "A pipeline may compare it with a threshold.",
	},
	{
		name:    "heed",
		pattern: pattern(`\b(un)?heed(s|ed|ing)?\b`),
		instead: "takes into account, models",
		wrong:   "No interval heeds this factor.",
		right:   "No interval takes this factor into account.",
	},
	{
		name:    "no-chance",
		pattern: pattern(`\b(is|are|was|were) no chance\b`),
		instead: "is significant, with the test and its level",
		wrong:   "The bend is no chance.",
		right:   "The bend is significant (F test, 5 %).",
	},
	{
		name:    "what-binds",
		pattern: pattern(`\b(what|which|that) binds\b`),
		allowed: pattern(`\bbinds to\b`),
		instead: "the bottleneck",
		wrong:   "It names the tier that binds.",
		right:   "It names the bottleneck.",
	},
}

// avoided returns the constructions that a sentence of a passage has.
func avoided(s string, running bool) []construction {
	var has []construction
	for _, c := range constructions {
		if (running || !c.running) && c.in(s) != "" {
			has = append(has, c)
		}
	}
	return has
}

// in returns the part of a sentence that has the construction, or "". Code has
// none.
func (c construction) in(s string) string {
	s = codeSpan.ReplaceAllString(s, "`…`")
	if c.allowed != nil {
		s = c.allowed.ReplaceAllString(s, "")
	}
	return c.pattern.FindString(s)
}
