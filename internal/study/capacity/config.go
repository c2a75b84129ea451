package capacity

// Config is a search.
type Config struct {
	SLA SLA
	// Start is the first load, in operations per second; Min and Max bound
	// what is tried.
	Start, Min, Max float64
	// Resolution is how far apart, relative to each other, the last load
	// passed and the first one failed may be in the end.
	Resolution float64
	// MaxWindows bounds the windows that count; a search that has not ended
	// by then is not confirmed.
	MaxWindows int
	Algorithm  search.Algorithm
	// Scored is how long a window is scored, after WarmUp; 0: not known.
	WarmUp, Scored time.Duration
	// Fraction and Rate are parameters of the paper's algorithm: a second of
	// its ramp passes if the median latency exceeds the round-trip time by no
	// more than Fraction of it; fine steps are Rate of the last gap.
	Fraction, Rate float64
}

// Defaults of a search.
func Defaults() Config {
	return Config{
		Start: 100, Min: 1, Max: 1e6, Resolution: .05, MaxWindows: 40,
		Algorithm: search.Default, Fraction: 1, Rate: .1,
	}
}

// Check refuses a search that cannot be made, with model.ErrUsage.
func (c Config) Check() error {
	switch {
	case len(c.SLA.Terms) == 0:
		return fmt.Errorf("%w: a search needs an SLA, such as p90=150ms", model.ErrUsage)
	case !(c.Min > 0) || !(c.Start >= c.Min) || !(c.Max >= c.Start) || math.IsInf(c.Max, 0):
		return fmt.Errorf("%w: loads from %v to %v beginning with %v; they must be positive and in this order: min, start, max",
			model.ErrUsage, c.Min, c.Max, c.Start)
	case c.Algorithm == search.Paper && !(c.Fraction > 0):
		return fmt.Errorf("%w: fraction %v; it is positive", model.ErrUsage, c.Fraction)
	}
	_, err := c.search()
	return err
}

// search makes the algorithm.
func (c Config) search() (search.Search, error) {
	s, err := search.New(search.Options{
		Algorithm: c.Algorithm, Start: c.Start, Min: c.Min, Max: c.Max,
		Resolution: c.Resolution, MaxWindows: c.MaxWindows, Rate: c.Rate,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	return s, nil
}

// unnoticed is the overload that this search's windows fail to notice; 0 where
// their length is not known.
func (c Config) unnoticed() float64 {
	if c.Scored <= 0 {
		return 0
	}
	return c.SLA.Unnoticed(c.WarmUp, c.Scored)
}

// tooShort warns of windows that cannot tell what a server sustains.
func (c Config) tooShort() []string {
	x := c.unnoticed()
	if x <= load.Tolerable {
		return nil
	}
	return []string{fmt.Sprintf("windows of %v are short for %v: a server offered up to %s more than it can do keeps that until they end, and what it sustains may be less by so much; let them be %v long",
		c.Scored, c.SLA, unit.Share(x), c.SLA.Scored(c.WarmUp))}
}

