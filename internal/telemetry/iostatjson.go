package telemetry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// marked notes where lines end.
type marked struct {
	r    io.Reader
	read int64
	ends []int64
}

// Read implements io.Reader.
func (m *marked) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			m.ends = append(m.ends, m.read+int64(i))
		}
	}
	m.read += int64(n)
	return n, err
}

// iostatReports reads what iostat -o JSON prints, report by report.
type iostatReports struct {
	reports
	*json.Decoder
	lines marked
	depth int // of objects and arrays that have not ended
	found bool
}

// line is the one that is read.
func (j *iostatReports) line() int {
	n, _ := slices.BinarySearch(j.lines.ends, j.InputOffset())
	return n + 1
}

func (f *file) iostatJSON() ([]Recording, error) {
	j := &iostatReports{reports: f.newReports(), lines: marked{r: f.in}}
	j.Decoder = json.NewDecoder(&j.lines)
	err := j.read()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.cut = j.depth > 0
	case errors.As(err, &syntax), errors.As(err, &kind):
		f.refuse(j.line(), "this is no JSON of iostat: "+err.Error(), allowed)
	default:
		return nil, f.unreadable(err)
	}
	if !j.found {
		f.refuse(1, "the JSON has no reports of iostat", allowed)
	}
	return j.all(), f.problem()
}

// read goes through all tokens: hosts have a name, a date and reports.
func (j *iostatReports) read() error {
	for {
		token, err := j.Token()
		switch token {
		case json.Delim('['), json.Delim('{'):
			j.depth++
		case json.Delim(']'), json.Delim('}'):
			j.depth--
		case "nodename":
			j.host("", "")
			err = j.Decode(&j.node)
		case "date":
			err = j.Decode(&j.date)
		case "statistics":
			if token, err = j.Token(); err == nil && token == json.Delim('[') {
				j.depth, j.found = j.depth+1, true
				err = j.statistics()
			}
		}
		if err != nil {
			return err
		}
	}
}

// statistics reads the reports of a host. An empty line before the first one is a sign of -y.
func (j *iostatReports) statistics() error {
	begin := j.line()
	for j.More() {
		var r struct {
			Timestamp string           `json:"timestamp"`
			Disk      []map[string]any `json:"disk"`
		}
		line := j.line()
		if err := j.Decode(&r); err != nil {
			return err
		}
		stamp := math.NaN()
		if r.Timestamp != "" {
			stamp = j.stamp(line, r.Timestamp)
		}
		j.begin(line, stamp, line-begin > 1)
		for _, disk := range r.Disk {
			for name, value := range disk {
				if v, ok := value.(float64); ok {
					j.disk(fmt.Sprint(disk["disk_device"]), name, v)
				}
			}
		}
	}
	return nil
}
