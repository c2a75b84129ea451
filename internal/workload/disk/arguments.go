package disk

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
)

// statusInterval is how often fio prints its state: twice as often as the
// contract of a workload asks for, so that one may be late. (At 250 ms the
// intervals of 3.33 vary by a quarter.)
const statusInterval = 500 * time.Millisecond

// layoutBlock is the size of the writes that lay a file out.
const layoutBlock = int64(unit.MiB)

// common are the options of every run of fio. Threads, not processes: they end
// with fio, however it ends. Buffers are filled anew for each write, with
// numbers that no run before has used, so that nothing can be compressed or
// deduplicated on its way.
func common(path string) []string {
	return []string{
		"--name=scalebench", "--filename=" + escapeFilename(path),
		"--thread", "--eta=never", "--output-format=json+", "--group_reporting",
		"--fallocate=none", "--refill_buffers", "--randrepeat=0",
	}
}

// escapeFilename keeps fio from taking a colon as the separator of two names.
func escapeFilename(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(path)
}

// layoutArguments write the whole target once. (An fallocated or sparse file
// would cost a change of metadata with each first write.)
func layoutArguments(s settings, path string, direct bool) []string {
	block := layoutBlock
	if s.total()%block != 0 {
		block = s.block // or the end would not be written
	}
	return append(common(path),
		"--rw=write", "--ioengine=psync", "--end_fsync=1",
		"--bs="+strconv.FormatInt(block, 10), "--size="+strconv.FormatInt(s.total(), 10), "--direct="+flag(direct && block%sector == 0))
}

// runArguments do the work. Each job has its own part, so that together they
// use the whole size, and a fixed amount is done once.
func runArguments(s settings, path string) []string {
	args := append(common(path),
		"--rw="+s.rw(), "--bs="+strconv.FormatInt(s.block, 10),
		"--size="+strconv.FormatInt(s.part(), 10), "--numjobs="+strconv.Itoa(s.jobs),
		"--offset_increment="+strconv.FormatInt(s.part(), 10),
		"--ioengine="+s.engine, "--iodepth="+strconv.Itoa(s.depth), "--direct="+flag(s.direct),
		"--percentile_list=50:99:99.9",
		fmt.Sprintf("--status-interval=%dms", statusInterval.Milliseconds()))
	if s.operation == Mixed {
		args = append(args, "--rwmixread="+strconv.Itoa(s.readShare))
	}
	if s.fsync > 0 {
		args = append(args, "--fsync="+strconv.Itoa(s.fsync))
	}
	if s.endFsync() {
		args = append(args, "--end_fsync=1")
	}
	if s.duration > 0 {
		args = append(args, "--time_based", fmt.Sprintf("--runtime=%dms", s.duration.Milliseconds()),
			fmt.Sprintf("--ramp_time=%dms", s.ramp.Milliseconds()))
	}
	return args
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
