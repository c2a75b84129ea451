package telemetry

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
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

// line is that of an offset, from 1.
func (m *marked) line(offset int64) int {
	n, _ := slices.BinarySearch(m.ends, offset)
	return n + 1
}

// iostatReports reads what iostat -o JSON prints, report by report.
type iostatReports struct {
	file  *file
	lines *marked
	in    *json.Decoder
	clock *clock
	now   reports
	found bool // reports of iostat
	depth int  // of objects and arrays that have not ended
	out   []Recording
}

// report is one of iostat -o JSON.
type report struct {
	Timestamp string           `json:"timestamp"`
	Disk      []map[string]any `json:"disk"`
}

func (f *file) iostatJSON() ([]Recording, error) {
	lines := &marked{r: f.in}
	j := &iostatReports{file: f, lines: lines, in: json.NewDecoder(lines), clock: &clock{zone: f.Zone}}
	err := j.read()
	j.out = append(j.out, j.now.recordings()...)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.cut = j.depth > 0
	case errors.As(err, &syntax), errors.As(err, &kind):
		f.refuse(lines.line(j.in.InputOffset()), "this is no JSON of iostat: "+err.Error(), allowed)
	default:
		return nil, f.unreadable(err)
	}
	if !j.found {
		f.refuse(1, "the JSON has no reports of iostat", allowed)
	}
	return j.clock.guess(j.out), f.problem()
}

// read goes through keys and values until the end: hosts have a name, a date and reports.
func (j *iostatReports) read() error {
	key := ""
	for {
		token, err := j.in.Token()
		if err != nil {
			return err
		}
		text, isText := token.(string)
		switch token {
		case json.Delim('['), json.Delim('{'):
			j.depth++
		case json.Delim(']'), json.Delim('}'):
			j.depth--
		}
		switch {
		case key == "nodename" && isText:
			j.out = append(j.out, j.now.recordings()...)
			j.now = reports{file: j.file, node: text}
			key = ""
		case key == "date" && isText:
			j.now.date, key = text, ""
		case key == "statistics" && token == json.Delim('['):
			if err := j.reports(); err != nil {
				return err
			}
			key = ""
		case isText:
			key = text
		default:
			key = ""
		}
	}
}

// reports reads those of one host. An empty line before the first one is a sign of -y.
func (j *iostatReports) reports() error {
	begin := j.lines.line(j.in.InputOffset())
	j.now.file, j.now.sinceBoot, j.found = j.file, true, true
	for first := true; j.in.More(); first = false {
		line := j.lines.line(j.in.InputOffset())
		if first && line-begin > 1 {
			j.now.sinceBoot = false
		}
		var r report
		if err := j.in.Decode(&r); err != nil {
			return err
		}
		stamp := math.NaN()
		if r.Timestamp != "" {
			stamp = j.file.stamp(j.clock, line, r.Timestamp)
		}
		j.now.begin(line, stamp)
		for _, disk := range r.Disk {
			device, _ := disk["disk_device"].(string)
			device = strings.TrimSpace(device)
			for name, value := range disk {
				if v, ok := value.(float64); ok {
					j.now.disk(device, name, v)
				}
			}
		}
	}
	return nil
}
