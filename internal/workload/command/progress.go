package command

import (
	"bytes"
	"context"
	"io"

	"github.com/scalebench/scalebench/internal/workload"
)

// maxLine bounds a line that is read as progress; longer ones are none.
const maxLine = 64 << 10

// progressReader takes standard output apart into lines and reports those that
// hold the counter. The time of a point is the time at which its line arrives:
// a command that buffers its output reports late.
type progressReader struct {
	ctx    context.Context
	from   *Progress
	metric string
	report workload.Reporter
	line   []byte
	long   bool // the current line is too long
}

// progressLines returns the writer that reads progress; it discards everything
// if none is wanted.
func (p *Params) progressLines(ctx context.Context, r workload.Reporter) io.Writer {
	if p.Progress == nil {
		return io.Discard
	}
	return &progressReader{ctx: ctx, from: p.Progress, metric: p.progressMetric(), report: r}
}

func (g *progressReader) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			g.keep(p)
			return n, nil
		}
		g.keep(p[:i])
		if !g.long {
			g.take(g.line)
		}
		g.line, g.long = g.line[:0], false
		p = p[i+1:]
	}
}

// keep adds to the current line.
func (g *progressReader) keep(p []byte) {
	if len(g.line)+len(p) > maxLine {
		g.long = true
		return
	}
	g.line = append(g.line, p...)
}

// take reports a line, if it holds the counter.
func (g *progressReader) take(line []byte) {
	var v float64
	var err error
	if g.from.Regex != "" {
		v, err = readRegex(g.from.Regex, line)
	} else {
		v, err = readJSON(g.ctx, g.from.JSON, line)
	}
	if err == nil {
		g.report.Progress(g.metric, g.from.Unit, v)
	}
}
