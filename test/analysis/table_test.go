package analysis

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// measurement is a row of the table: a campaign of that many nodes that measure
// one after another.
type measurement struct {
	Value float64   `parquet:"value"`
	Time  time.Time `parquet:"time,timestamp(microsecond)"`
	Zone  string    `parquet:"zone,dict"`
	CPU   string    `parquet:"cpu_model,dict"`
	Type  string    `parquet:"type,dict"`
	Node  string    `parquet:"node,dict"`
}

var (
	zones = []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}
	cpus  = []string{"Intel(R) Xeon(R) CPU E5430 @ 2.66GHz", "AMD Opteron(tm) Processor 2218 HE"}
	types = []string{"m1.small", "m1.large", "c1.medium", "c1.xlarge"}
)

const nodes = 50

// generate makes rows; the same seed makes the same ones. What a row measures
// depends on the processor, the zone, the hour and the day, and on chance.
func generate(rows int, seed uint64, each func(m *measurement) error) error {
	random := rand.New(rand.NewPCG(seed, seed))
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%02d", i)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m measurement
	for i := range rows {
		at = at.Add(time.Duration(1+random.IntN(5)) * 500 * time.Millisecond)
		node := i % nodes
		m.Time, m.Node, m.Zone, m.Type = at, names[node], zones[node%len(zones)], types[node%len(types)]
		cpu := node * 17 % 50 / 39 // a band of 22 %
		m.CPU = cpus[cpu]
		hour := at.Sub(at.Truncate(24 * time.Hour)).Hours()
		level := 100 * (1 - .4*float64(cpu)) * (1 + .05*math.Sin(hour/12*math.Pi)) * (1 + .02*float64(node%len(zones)))
		m.Value = math.Round(level*(1+.03*random.NormFloat64())*1e4) / 1e4
		if err := each(&m); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the table as text, with times in RFC 3339.
func writeCSV(w io.Writer, rows int, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	_, _ = out.WriteString("time,zone,cpu_model,type,node,value\n") // Flush has the error
	var line []byte
	err := generate(rows, seed, func(m *measurement) error {
		line = m.Time.AppendFormat(line[:0], time.RFC3339Nano)
		for _, text := range []string{m.Zone, m.CPU, m.Type, m.Node} {
			line = append(append(line, ','), text...)
		}
		line = append(strconv.AppendFloat(append(line, ','), m.Value, 'f', -1, 64), '\n')
		_, err := out.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeParquet writes the same table as Parquet, packed with Snappy as most
// programs do by default.
func writeParquet(w io.Writer, rows int, seed uint64) error {
	out := parquet.NewGenericWriter[measurement](w, parquet.Compression(&snappy.Codec{}), parquet.MaxRowsPerRowGroup(1<<20))
	some := make([]measurement, 0, 1<<12)
	flush := func() error {
		_, err := out.Write(some)
		some = some[:0]
		return err
	}
	err := generate(rows, seed, func(m *measurement) error {
		if some = append(some, *m); len(some) < cap(some) {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	return out.Close()
}
