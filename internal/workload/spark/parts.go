package spark

import "math/bits"

// part is what a node says of its part of a table that is divided.
type part struct {
	Host   string  `json:"host"` // as its executor is called
	File   string  `json:"file"`
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
	out := &part{Host: host, File: p.file, Answer: p.kept.Answer, Seen: p.kept.Seen}
	for i := range tasks + 1 {
		out.Cuts = append(out.Cuts, cuts[i*pieces/tasks])
	}
	return out
}

// whole is the answer for the table that the parts make.
func whole(parts []*part) (a answer) {
	var seen []byte
	for _, p := range parts {
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
	return a
}
