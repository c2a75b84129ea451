package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Parquet files begin and end with parquetMagic; those of which the footer is encrypted
// with encryptedMagic.
const parquetMagic, encryptedMagic = "PAR1", "PARE"

// parquet reads a Parquet file: one group of rows after another, all columns of
// one at once.
func (f *file) parquet(ctx context.Context) (frames []frame.Frame, err error) {
	at, size, done, err := f.whole()
	if err != nil {
		return nil, err
	}
	defer done()
	err = f.guarded(func() error {
		frames, err = f.columnar(ctx, at, size)
		return err
	})
	return frames, err
}

// columnar reads a Parquet file that is there whole.
func (f *file) columnar(ctx context.Context, at io.ReaderAt, size int64) ([]frame.Frame, error) {
	in, err := parquet.OpenFile(at, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(1<<20), parquet.WithDecryption(noKeys{}))
	if errors.Is(err, errEncrypted) {
		return nil, f.wrong("the Parquet file is encrypted", "write it again without encryption")
	} else if err != nil {
		return nil, f.notParquet(err)
	}
	if err := f.decodable(in.Metadata()); err != nil {
		return nil, err
	}
	p := &parquetFile{file: f, leaves: leavesOf(in)}
	if n := len(p.leaves); n > tabular.MostColumns {
		return nil, f.tooWide(n)
	}
	columns, err := p.columns(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 || in.NumRows() == 0 {
		return nil, f.wrong("the file has no values", "give one that has columns and rows")
	}
	plan, err := newPlan(f, columns, false)
	if err != nil {
		return nil, err
	}
	if v := columns[plan.value]; !v.kind.numeric() && v.kind != kindEmpty {
		return nil, f.wrong(fmt.Sprintf("the column %q has no numbers", v.name), "choose another with --value")
	}
	p.prepare(plan)
	f.row = "row"
	t := newTable(f, plan, 1)
	if err := p.read(ctx, in, t); err != nil {
		return nil, err
	}
	return t.frames()
}

// errEncrypted: keys would be needed.
var errEncrypted = errors.New("no keys")

// noKeys is asked for keys where a file is encrypted.
type noKeys struct{}

// FooterKey implements [parquet.KeyRetriever].
func (noKeys) FooterKey([]byte) ([]byte, error) { return nil, errEncrypted }

// ColumnKey implements [parquet.KeyRetriever].
func (noKeys) ColumnKey([]string, []byte) ([]byte, error) { return nil, errEncrypted }

// decodable refuses files that are compressed in a way that cannot be read, or not rightly:
// of pages of LZ4_RAW that grow beyond the library's buffer it returns what was in the
// buffer before (https://github.com/parquet-go/parquet-go/issues/608).
func (f *file) decodable(of *format.FileMetaData) error {
	for _, g := range of.RowGroups {
		for _, c := range g.Columns {
			switch codec := c.MetaData.Codec; codec {
			case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
			default:
				return f.wrong(fmt.Sprintf("the column %q is compressed with %s, which cannot be read",
					strings.Join(c.MetaData.PathInSchema, "."), codec), "write the file with Zstandard, Snappy or gzip")
			}
		}
	}
	return nil
}

// notParquet is why a Parquet file cannot be read.
func (f *file) notParquet(err error) error {
	return f.wrong(fmt.Sprintf("the Parquet file is damaged or cut (%v)", err), "make or copy it again")
}

// guarded makes a panic in do an error: the library trusts what a file says about
// itself in places.
func (f *file) guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = f.notParquet(fmt.Errorf("%v", r))
		}
	}()
	return do()
}

// whole is the file for reading at any place; one that does not allow that, such
// as a pipe, is copied into a temporary file first. done must be called.
func (f *file) whole() (at io.ReaderAt, size int64, done func(), err error) {
	if file, ok := f.packed.source.r.(*os.File); ok && f.packed.how == "" {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, info.Size(), func() {}, nil
		}
	}
	spool, err := os.CreateTemp("", "scalebench-*.parquet")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("keeping %s for reading: %w", f.name, err)
	}
	done = func() {
		_ = spool.Close()
		_ = os.Remove(spool.Name())
	}
	size, err = io.Copy(spool, io.LimitReader(f.in, f.limits.Spool+1))
	switch {
	case err != nil && f.packed.source.err == nil && f.packed.how == "":
		err = fmt.Errorf("keeping %s for reading: %w; is there room in %s? TMPDIR names another directory", f.name, err, os.TempDir())
	case err != nil:
		err = f.damaged(err)
	case size > f.limits.Spool:
		err = f.wrong(fmt.Sprintf("there are more than %s", num.Bytes(f.limits.Spool)),
			"a Parquet file is read from its end: give the name of a file that is not packed instead of a stream")
	}
	if err != nil {
		done()
		return nil, 0, nil, err
	}
	return spool, size, done, nil
}

// parquetFile reads rows of a Parquet file.
type parquetFile struct {
	file   *file
	leaves []leaf
	plan   *plan
	keys   [keys]*levels
	worker *worker // for what rows are about, and notes
}

// prepare gets ready for what is to be read.
func (p *parquetFile) prepare(plan *plan) {
	p.plan, p.worker = plan, newWorker(plan, 0, p.file.zone)
	for k, c := range plan.keys {
		if c >= 0 {
			p.keys[k] = newLevels()
		}
	}
}

// columns are the columns, and what they hold.
func (p *parquetFile) columns(ctx context.Context, in *parquet.File) ([]column, error) {
	var out []column
	for i, l := range p.leaves {
		c := newColumn(i+1, l.name)
		if c.odd, c.kind = l.odd, l.kind; c.odd == "" &&
			(c.kind == kindText && l.text() || c.kind == kindNumber && l.number == nil) {
			if err := l.look(ctx, in, &c, newClock(p.file.zone)); err != nil {
				return nil, p.file.notParquet(fmt.Errorf("column %s: %w", l.name, err))
			}
			c.judge()
			c.kind = l.refine(c.kind)
		} else if l.days() {
			c.dates, c.seen[kindTime] = 1, 1
		}
		out = append(out, c)
	}
	return out, nil
}

// read reads all groups of rows.
func (p *parquetFile) read(ctx context.Context, in *parquet.File, t *table) error {
	for _, g := range in.RowGroups() {
		if n := g.NumRows(); n > int64(t.limits.Rows-t.rows) || t.memory+n*t.rowBytes() > t.limits.Memory {
			t.rows += int(n)
			t.memory += n * t.rowBytes()
			t.within()
			return nil
		}
		b, err := p.group(ctx, g, t.lines)
		if err != nil {
			return err
		}
		if !t.add(b, 0) {
			return nil
		}
	}
	return nil
}

// While rows are read, noMoment stands for a time that is missing, and farMoment for
// one that nanoseconds since 1970 cannot hold.
const (
	noMoment  = math.MinInt64
	farMoment = noMoment + 1
)

// unusual reports whether a time stands for one that is missing or too far.
func unusual(ns int64) bool { return ns <= farMoment }

// group reads a group of rows, behind so many others.
func (p *parquetFile) group(ctx context.Context, g parquet.RowGroup, before int) (*batch, error) {
	b := p.worker.begin()
	rows, chunks := int(g.NumRows()), g.ColumnChunks()
	var about [keys][]uint16
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(mostWorkers)
	read := func(column int, decode func(l leaf, chunk parquet.ColumnChunk) error) {
		all.Go(func() error {
			return p.file.guarded(func() error {
				l := p.leaves[column]
				err := decode(l, chunks[l.chunk])
				if err != nil && ctx.Err() == nil {
					return p.file.notParquet(fmt.Errorf("column %s: %w", l.name, err))
				}
				return err
			})
		})
	}
	read(p.plan.value, func(l leaf, c parquet.ColumnChunk) (err error) {
		b.values, err = readColumn(ctx, l, c, rows, l.floats, math.NaN())
		return err
	})
	moments := p.readTimes(ctx, rows, b, read)
	for i, c := range p.plan.facts {
		read(c, func(l leaf, c parquet.ColumnChunk) (err error) {
			b.facts[i], err = readColumn(ctx, l, c, rows, l.codes(p.worker.facts[i]), 0)
			return err
		})
	}
	for k, c := range p.plan.keys {
		if c >= 0 {
			read(c, func(l leaf, c parquet.ColumnChunk) (err error) {
				about[k], err = readColumn(ctx, l, c, rows, l.codes(p.keys[k]), 0)
				return err
			})
		}
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	r := &rowGroup{parquetFile: p, b: b, before: before, about: about, moments: moments()}
	r.judge(rows)
	return p.worker.end(), nil
}

// readTimes reads when rows were measured. moments has the times that are texts, after all
// columns are read.
func (p *parquetFile) readTimes(ctx context.Context, rows int, b *batch,
	read func(column int, decode func(leaf, parquet.ColumnChunk) error)) (moments func() []moment) {
	var found []moment
	if p.plan.ofDay >= 0 {
		var dates, clocks []string
		for column, to := range map[int]*[]string{p.plan.time: &dates, p.plan.ofDay: &clocks} {
			read(column, func(l leaf, c parquet.ColumnChunk) (err error) {
				*to, err = readColumn(ctx, l, c, rows, l.cells, "")
				return err
			})
		}
		return func() []moment {
			for i, date := range dates {
				found = append(found, p.worker.clock.moment(p.worker.inDay([]byte(date), []byte(clocks[i]))))
			}
			return found
		}
	}
	if p.plan.time >= 0 {
		read(p.plan.time, func(l leaf, c parquet.ColumnChunk) (err error) {
			if l.unit > 0 {
				b.times, err = readColumn(ctx, l, c, rows, l.ticks, noMoment)
				return err
			}
			found, err = readColumn(ctx, l, c, rows, l.moments(p.worker.clock), moment{ns: noMoment})
			return err
		})
	}
	return func() []moment { return found }
}

// without is a column without the rows that are gone.
func without[T any](column []T, gone []bool) []T {
	if column == nil {
		return nil
	}
	out := column[:0]
	for i, v := range column {
		if !gone[i] {
			out = append(out, v)
		}
	}
	return out
}

var errRows = errors.New("it has another number of rows than the file says")
