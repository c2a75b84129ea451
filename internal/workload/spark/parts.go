package spark

import (
	"errors"
	"fmt"
	"math/bits"
)

// part is what a node says of its part of a table that is divided.
type part struct {
	Table  table   `json:"table"`
	Host   string  `json:"host"` // as its executor is called
	File   string  `json:"file"`
	Rows   int64   `json:"rows"`
	Cached int64   `json:"cached"` // bytes that the job does not read from the disk
	Answer answer  `json:"answer"`
	Seen   []byte  `json:"seen"`
	Cuts   []int64 `json:"cuts"` // between its tasks
}

// perTask is how much of a part a task of the job reads at most, as Spark divides files.
const perTask = 128_000_000

// part is this node's part, in whole rounds of its cores.
func (p *Params) part(host string) *part {
	cores := p.cores()
	rounds := max(1, (p.kept.Bytes+int64(cores)*perTask-1)/(int64(cores)*perTask))
	cuts, pieces := p.kept.Cuts, len(p.kept.Cuts)-1
	tasks := int(min(int64(cores)*rounds, int64(pieces)))
	out := &part{
		Table: p.kept.table, Host: host, File: p.file, Rows: p.kept.Rows, Cached: p.cached,
		Answer: p.kept.Answer, Seen: p.kept.Seen,
	}
	for i := range tasks + 1 {
		out.Cuts = append(out.Cuts, cuts[i*pieces/tasks])
	}
	return out
}

// whole is the answer for the table that the parts make. It refuses parts that are not
// each part of one table, once.
func whole(parts []*part) (a answer, err error) {
	var seen []byte
	come := make(map[table]bool)
	for _, p := range parts {
		if p == nil {
			return answer{}, errors.New("a node has no part of the table: is its scalebench of another version?")
		}
		want := parts[0].Table
		want.Part = p.Table.Part
		if p.Table != want || p.Table.Parts != len(parts) || come[p.Table] {
			return answer{}, fmt.Errorf("node %s has the part %+v, which is not one of %d of %+v",
				p.Host, p.Table, len(parts), want)
		}
		come[p.Table] = true
		a.Cents += p.Answer.Cents
		a.Checked = (a.Checked + p.Answer.Checked) % prime
		seen = append(seen, make([]byte, max(0, len(p.Seen)-len(seen)))...)
		for i, b := range p.Seen {
			seen[i] |= b
		}
	}
	for _, b := range seen {
		a.Groups += int64(bits.OnesCount8(b))
	}
	return a, nil
}
