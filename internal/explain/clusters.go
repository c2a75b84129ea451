package explain

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Clusters is whether the variance averages out in larger clusters (the paper,
// section 7.1). A cluster is the nodes that measured in one repetition; what one
// node measured several times in it is one value, their mean.
type Clusters struct {
	Fact string `json:"fact"` // whose levels are the clusters
	N    int    `json:"n"`
	// Nodes is the size of a cluster: the median over all.
	Nodes int           `json:"nodes"`
	Sizes []ClusterSize `json:"sizes"`
	Mixes []Mix         `json:"mixes,omitempty"` // the one that explains most first
	// Means are those of the clusters in the order of their first rows (the paper, Fig.
	// 13). There are none of more than mostMeans clusters.
	Means []ClusterMean `json:"means,omitempty"`
}

// ClusterMean is the mean over the nodes of one cluster.
type ClusterMean struct {
	At   *time.Time `json:"at"` // of its first row; null: not known
	Mean float64    `json:"mean"`
}

// ClusterSize is the COV of the means of clusters of so many nodes, drawn from
// the clusters without replacement: its expectation over all draws, which needs
// none. Independent is what it would be, were the nodes of a cluster independent
// of each other: COV(1)/√size.
type ClusterSize struct {
	Size        int       `json:"size"`
	COV         float64   `json:"cov"`
	CI          *Interval `json:"cov_ci"` // of whole clusters only
	Independent float64   `json:"independent"`
}

// Mix is how the mean of a cluster follows from the share of its nodes that have
// a level of a fact, such as one processor: a line by least squares.
type Mix struct {
	Fact  string `json:"fact"`
	Level string `json:"level"`
	// Slope is by how much the mean rises from no node to all of them, in the unit
	// of the values.
	Slope   float64   `json:"slope"`
	SlopeCI *Interval `json:"slope_ci"`
	R2      float64   `json:"r2"`

	// Shares and Means are of each cluster.
	Shares, Means []float64 `json:"-"`
}

// member is a node in one cluster.
type member struct {
	n, sum float64
	first  int // a row of it
}

const (
	leastClusters = 5   // for a COV of their means
	mostClusters  = 1e5 // more are rows rather than clusters
	mostMeans     = 1e4 // more are no figure that a reader can follow
)

// clusterFact is the fact whose levels are clusters; nil where there is none.
func (x *Rows) clusterFact(name string) *frame.Fact {
	if x.Frame.Fact(frame.FactSubject) == nil {
		return nil
	}
	for _, n := range []string{name, frame.FactRepetition, frame.FactRun, frame.FactTrial} {
		if fact := x.Frame.Fact(n); fact != nil && len(fact.Levels)-1 >= leastClusters {
			return fact
		}
		if name != "" {
			x.Doubts.Warn("no_clusters", "%s does not divide the rows into %d clusters or more, so that nothing is said of clusters", name, leastClusters)
			return nil
		}
	}
	return nil
}

// Clusters compares clusters of several nodes; nil where there are none. They are by
// the fact of that name; "": by repetition, or else run or trial.
func (x *Rows) Clusters(by string, effects []Effect) *Clusters {
	fact := x.clusterFact(by)
	if fact == nil || len(fact.Levels) > mostClusters {
		return nil
	}
	all := x.members(fact)
	sizes := make([]int, len(all))
	for i, c := range all {
		sizes[i] = len(c)
	}
	slices.Sort(sizes)
	nodes := sizes[len(sizes)/2]
	all = slices.DeleteFunc(all, func(c []*member) bool { return len(c) < nodes })
	if nodes < 2 || len(all) < leastClusters {
		return nil
	}
	out := &Clusters{Fact: fact.Name, N: len(all), Nodes: nodes, Sizes: sizesOf(all, nodes, x.Level)}
	if out.Sizes == nil {
		return nil
	}
	if len(all) <= mostMeans {
		slices.SortFunc(all, func(a, b []*member) int { return cmp.Compare(a[0].first, b[0].first) })
		for _, c := range all {
			mean, _ := stats.Mean(meansOf(c))
			out.Means = append(out.Means, ClusterMean{x.At(c[0].first), mean})
		}
	}
	for _, e := range effects {
		if e.Significant && !e.Derived && len(out.Mixes) < 6 && e.Levels <= 6 {
			out.Mixes = append(out.Mixes, x.mixes(all, x.Fact(e.Fact))...)
		}
	}
	slices.SortStableFunc(out.Mixes, func(a, b Mix) int { return cmp.Compare(b.R2, a.R2) })
	out.Mixes = out.Mixes[:min(len(out.Mixes), 6)]
	return out
}

// members are the clusters by the levels of the fact, with their nodes in the order of their rows.
func (x *Rows) members(fact *frame.Fact) [][]*member {
	node := x.Frame.Fact(frame.FactSubject)
	all, known := make([][]*member, len(fact.Levels)), make(map[[2]uint16]*member)
	for row, c := range fact.Codes {
		if c == 0 || node.Codes[row] == 0 {
			continue
		}
		key := [2]uint16{c, node.Codes[row]}
		m := known[key]
		if m == nil {
			m = &member{first: row}
			known[key], all[c] = m, append(all[c], m)
		}
		m.n++
		m.sum += x.Frame.Values[row]
	}
	return slices.DeleteFunc(all, func(c []*member) bool { return c == nil })
}

func meansOf(cluster []*member) (means []float64) {
	for _, m := range cluster {
		means = append(means, m.sum/m.n)
	}
	return means
}

// sizesOf are the COVs by size. Of m nodes drawn without replacement from n of
// each of k clusters, the variance of the k means is in expectation that of the
// whole clusters' means and the mean of s²(1/m − 1/n), s² the variance within a
// cluster (W. G. Cochran, Sampling Techniques, 1977, chapter 10).
func sizesOf(all [][]*member, nodes int, level float64) []ClusterSize {
	means := make([]float64, len(all))
	extra := func(m int) float64 {
		sum := 0.0
		for _, c := range all {
			values := meansOf(c)
			sd, _ := stats.SampleSD(values)
			sum += sd * sd * (1/float64(m) - 1/float64(len(values)))
		}
		return sum / float64(len(all))
	}
	for i, c := range all {
		means[i], _ = stats.Mean(meansOf(c))
	}
	grand, _ := stats.Mean(means)
	sd, err := stats.SampleSD(means)
	if err != nil || !(grand > 0) {
		return nil
	}
	var out []ClusterSize
	for _, m := range clusterSizes(nodes) {
		s := ClusterSize{Size: m, COV: math.Sqrt(max(0, sd*sd+extra(m))) / grand}
		if m == nodes {
			s.COV = sd / grand
			slices.Sort(means)
			s.CI = interval(stats.COVInterval(means, level, 0))
		}
		out = append(out, s)
	}
	for i := range out {
		out[i].Independent = out[0].COV / math.Sqrt(float64(out[i].Size))
	}
	return out
}

// clusterSizes are 1, 2, 5, 10 … and all nodes.
func clusterSizes(nodes int) []int {
	var out []int
	for m, k := 1, 0; m < nodes; k++ {
		out = append(out, m)
		m = []int{1, 2, 5}[(k+1)%3] * int(math.Pow10((k+1)/3))
	}
	return append(out, nodes)
}

// mixes are the lines through means and shares, for each level of a fact; of two
// levels for the first alone, as the other mirrors it.
func (x *Rows) mixes(all [][]*member, fact *Fact) []Mix {
	var out []Mix
	for code, level := range fact.Levels {
		m := Mix{Fact: fact.Name, Level: level}
		if code == 0 || fact.Used == 2 && len(out) == 1 {
			continue
		}
		for _, c := range all {
			have := 0.0
			for _, one := range c {
				if int(fact.Codes[one.first]) == code {
					have++
				}
			}
			mean, _ := stats.Mean(meansOf(c))
			m.Shares, m.Means = append(m.Shares, have/float64(len(c))), append(m.Means, mean)
		}
		if m.fit(x.Level) {
			out = append(out, m)
		}
	}
	return out
}

// fit is a line by least squares; false where the shares do not differ.
func (m *Mix) fit(level float64) bool {
	n := float64(len(m.Shares))
	mx, _ := stats.Mean(m.Shares)
	my, _ := stats.Mean(m.Means)
	var sxx, sxy, syy float64
	for i, s := range m.Shares {
		sxx += (s - mx) * (s - mx)
		sxy += (s - mx) * (m.Means[i] - my)
		syy += (m.Means[i] - my) * (m.Means[i] - my)
	}
	if !(sxx > 0) || !(syy > 0) || n < 3 {
		return false
	}
	m.Slope, m.R2 = sxy/sxx, sxy*sxy/(sxx*syy)
	if t, err := stats.TCritical(level, n-2); err == nil {
		half := t * math.Sqrt(max(0, syy-m.Slope*sxy)/(n-2)/sxx)
		m.SlopeCI = &Interval{m.Slope - half, m.Slope + half}
	}
	return true
}
