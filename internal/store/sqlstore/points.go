package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// A row of the table points holds what one result has of one metric: its
// series, host series or histograms. The offsets of a result's series are in a
// row of their own for each kind, with the key timesKey: many series were read
// at the same times, and those are kept once.
const (
	kindSeries     = 1
	kindHost       = 2
	kindHistograms = 3
)

const (
	// timesKey sorts before the keys of metrics.
	timesKey = ""
	// maxKey is how long a metric's name may be, in bytes, to be its key: the
	// indexes of PostgreSQL take no long ones.
	maxKey = 200
	// hashMark begins the keys that stand for a name.
	hashMark = "sha256:"
	// maxColumns bounds how many columns a result may have of one kind.
	maxColumns = 1 << 20
)

// metricKey is the name of the metric, or what stands for a name that is long,
// empty or looks like that.
func metricKey(metric string) string {
	if metric != "" && len(metric) <= maxKey && !strings.HasPrefix(metric, hashMark) {
		return metric
	}
	sum := sha256.Sum256([]byte(metric))
	return hashMark + hex.EncodeToString(sum[:])
}

// column is one series, host series or histogram within its row.
type column struct {
	position int    // among all of its kind in the result
	metric   string // written only where the key is another
	unit     string
	counter  bool   // of a host series
	second   int    // of a histogram
	times    int    // which of the result's offsets belong to the values
	values   []byte // as encodeFloats writes them; the text of a histogram
}

func layoutColumns(w *wire, cs *[]column) {
	list(w, cs, func(w *wire, c *column) {
		integer(w, &c.position)
		letters(w, &c.metric)
		letters(w, &c.unit)
		w.bool(&c.counter)
		integer(w, &c.second)
		integer(w, &c.times)
		w.bytes(&c.values)
	})
}

func layoutTimes(w *wire, ts *[][]byte) { list(w, ts, (*wire).bytes) }

// columns collects those of one kind of one result.
type columns struct {
	kind    int
	offsets [][]int64 // different ones
	of      map[string][]column
	n       int
}

func (cs *columns) add(c column, metric string) {
	key := metricKey(metric)
	if key != metric {
		c.metric = metric
	}
	c.position = cs.n
	cs.n++
	if cs.of == nil {
		cs.of = make(map[string][]column)
	}
	cs.of[key] = append(cs.of[key], c)
}

func (cs *columns) addSeries(c column, metric string, offsets []int64, values []float64) {
	same := func(x []int64) bool { return slices.Equal(x, offsets) }
	if c.times = slices.IndexFunc(cs.offsets, same); c.times < 0 {
		c.times = len(cs.offsets)
		cs.offsets = append(cs.offsets, offsets)
	}
	c.values = encodeFloats(values)
	cs.add(c, metric)
}

// rows are those of the table points, without their first column, the number
// of the result, in the order of the table's key.
func (cs *columns) rows(c *codec) (rows [][]any, err error) {
	var blob []byte
	if len(cs.offsets) > 0 {
		times := make([][]byte, len(cs.offsets))
		for i, x := range cs.offsets {
			times[i] = encodeInts(x)
		}
		if blob, err = packRecord(c, &times, layoutTimes); err != nil {
			return nil, fmt.Errorf("its times: %w", err)
		}
		rows = append(rows, []any{cs.kind, timesKey, blob})
	}
	for _, key := range slices.Sorted(maps.Keys(cs.of)) {
		list := cs.of[key]
		if blob, err = packRecord(c, &list, layoutColumns); err != nil {
			return nil, fmt.Errorf("metric %q: %w", key, err)
		}
		rows = append(rows, []any{cs.kind, key, blob})
	}
	return rows, nil
}

func (c *codec) pointRows(r *model.Result) ([][]any, error) {
	series, host, histograms := columns{kind: kindSeries}, columns{kind: kindHost}, columns{kind: kindHistograms}
	for _, x := range r.Series {
		series.addSeries(column{unit: x.Unit}, x.Metric, x.Offsets, x.Values)
	}
	for _, x := range r.Host {
		host.addSeries(column{unit: x.Unit, counter: x.Counter}, x.Metric, x.Offsets, x.Values)
	}
	for _, x := range r.Histograms {
		histograms.add(column{unit: x.Unit, second: x.Second, values: []byte(x.Encoded)}, x.Metric)
	}
	var all [][]any
	for _, cs := range []columns{series, host, histograms} {
		rows, err := cs.rows(c)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// pointReader turns rows of the table points back. It is given the rows of one
// result and kind together, that of the times first.
type pointReader struct {
	c     *codec
	w     wire
	times [][]int64
}

// read returns the columns of a row; none if it is that of the times.
func (p *pointReader) read(key string, blob []byte) ([]column, error) {
	if key == timesKey {
		var raw [][]byte
		if err := readRecord(p.c, &p.w, blob, &raw, layoutTimes); err != nil {
			return nil, err
		}
		p.times = make([][]int64, len(raw))
		for i, data := range raw {
			var err error
			if p.times[i], err = decodeInts(data); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	var list []column
	if err := readRecord(p.c, &p.w, blob, &list, layoutColumns); err != nil {
		return nil, err
	}
	for i := range list {
		if !strings.HasPrefix(key, hashMark) {
			list[i].metric = key
		}
	}
	return list, nil
}

// points returns offsets and values of a series. Those with equal offsets
// share them.
func (p *pointReader) points(c column) ([]int64, []float64, error) {
	values, err := decodeFloats(c.values)
	if err != nil {
		return nil, nil, err
	}
	if c.times < 0 || c.times >= len(p.times) || len(p.times[c.times]) != len(values) {
		return nil, nil, fmt.Errorf("%w: %d values have no offsets", errPacked, len(values))
	}
	return p.times[c.times], values, nil
}

func (p *pointReader) series(c column) (x model.Series, err error) {
	x.Metric, x.Unit = c.metric, c.unit
	x.Offsets, x.Values, err = p.points(c)
	return x, err
}

func (p *pointReader) host(c column) (x model.HostSeries, err error) {
	x.Metric, x.Unit, x.Counter = c.metric, c.unit, c.counter
	x.Offsets, x.Values, err = p.points(c)
	return x, err
}

func (p *pointReader) histogram(c column) (model.Histogram, error) {
	return model.Histogram{Metric: c.metric, Unit: c.unit, Second: c.second, Encoded: string(c.values)}, nil
}

// add puts the columns of a row where they were in their result.
func (p *pointReader) add(r *model.Result, kind int, key string, blob []byte) error {
	list, err := p.read(key, blob)
	for _, c := range list {
		switch kind {
		case kindSeries:
			err = errors.Join(err, place(&r.Series, c, p.series))
		case kindHost:
			err = errors.Join(err, place(&r.Host, c, p.host))
		case kindHistograms:
			err = errors.Join(err, place(&r.Histograms, c, p.histogram))
		}
	}
	return err
}

func place[T any](list *[]T, c column, build func(column) (T, error)) error {
	if c.position < 0 || c.position > maxColumns {
		return fmt.Errorf("%w: column number %d", errPacked, c.position)
	}
	if missing := c.position + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]T, missing)...)
	}
	x, err := build(c)
	(*list)[c.position] = x
	return err
}
