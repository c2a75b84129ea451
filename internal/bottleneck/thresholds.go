package bottleneck

import "github.com/scalebench/scalebench/internal/stats"

// When a resource is full (docs/ntier.md). The cut-offs are ours.
const (
	// saturated is the utilisation from which on a second counts as full, saturatedLink
	// that of links: what a shaper counts has headers that not every counter has.
	saturated     = .95
	saturatedLink = .9
	// FullShare is the share of seconds from which on a resource is full, fullMean the
	// utilisation over all of them that says the same of hardware.
	FullShare = .9
	fullMean  = .97
	// partialShare is the share of seconds from which on a resource is full at times.
	partialShare = .1
)

// What a curve takes to be called bent.
const (
	// level of all intervals and tests.
	level = stats.DefaultLevel
	// LeastLoads that a knee takes: one more than the stick has parameters.
	LeastLoads = 4
	// smallBend: a slope that keeps more than half of what it was before is no knee.
	smallBend = .5
	// materialLoss is which part of the growth without a knee must be lost: a bend
	// may be no chance and matter to no one.
	materialLoss = .1
	// Repeatability is how well a throughput or a utilisation repeats at best.
	Repeatability = .01
	// FewestSeconds from which a utilisation is known.
	FewestSeconds = 5
)

// What a resource takes to be a cause. The cut-offs are ours.
const (
	// minUtilisationAtKnee is how busy what binds is at least where the knee ends: what fills
	// only later is filled by the requests that wait already.
	minUtilisationAtKnee = .8
	// nearlyFull is from where on hardware explains a full pool in front of it.
	nearlyFull = .9
	// equallyBusy: hardware with this share of the utilisation of a bottleneck is a second
	// one, for more of the one would soon meet the other.
	equallyBusy = .95
	// ownQuota: a limit of a service that is less than this share of its node's
	// processors is one of its own.
	ownQuota = .99
	// sameLimit is by which share a limit may be read otherwise without having changed.
	sameLimit = .01
)

// From where on a generator says nothing about the application.
const (
	generatorBusy       = .9 // of its time
	generatorLate       = .5 // of the response time
	generatorDifference = .1 // of the response time, that users wait beyond the first tier
	// shortCPU of the first tier, which may then read its requests late.
	shortCPU = .7
)

// From where on a load is doubted, and from where on it carries no verdict.
const (
	lawTolerance    = .05 // |X(R+Z)/N − 1|
	lawBroken       = .15
	otherUnits      = 3   // X(R+Z)/N: no trial is so far off by itself
	worthMentioning = .01 // of the operations failed
	tooManyErrors   = .1
)
