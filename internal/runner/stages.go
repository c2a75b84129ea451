package runner

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// maxStages bounds what is kept of a task that reports them without end.
const maxStages = 4096

// stages pairs what was reported of stages: their times count from the start of
// the task, or from the first of them where it never started. What was cut short
// has ended now.
func stages(reports []stageReport, started, now time.Time) []model.Stage {
	var out []model.Stage
	if len(reports) == 0 {
		return nil
	}
	zero := started.UnixNano()
	if started.IsZero() {
		zero = reports[0].At
	}
	open := make(map[model.StageChange]int) // index into out, by name and service
	for _, r := range reports {
		key := model.StageChange{Name: r.Name, Service: r.Service}
		i, begun := open[key]
		if r.State == model.StageBegun || !begun {
			i = len(out)
			out = append(out, model.Stage{Name: r.Name, Service: r.Service, Started: r.At - zero, Ended: r.At - zero, Note: r.Reason})
			open[key] = i
		}
		switch r.State {
		case model.StageBegun:
			continue
		case model.StageFailed:
			out[i].Error = r.Reason
		default:
			out[i].Note = cmp.Or(r.Reason, out[i].Note)
		}
		out[i].Ended = r.At - zero
		delete(open, key)
	}
	for _, i := range open {
		out[i].Ended, out[i].Error = now.UnixNano()-zero, "cut short"
	}
	return out
}

// takeKept moves the files that the task wants to be kept to where artifacts
// wait for delivery. What cannot be moved is left out.
func (p *Process) takeKept() {
	dir := p.dir + ".keep"
	files, err := os.ReadDir(dir)
	if err != nil || p.cfg.ArtifactDir == "" || p.cfg.Spec.ArtifactLimit <= 0 {
		return
	}
	p.outcome.KeptFiles = make(map[string]string)
	for _, f := range files[:min(len(files), model.MaxKept)] {
		if !model.CanKeep(f.Name()) {
			continue
		}
		to := filepath.Join(p.cfg.ArtifactDir, "kept."+f.Name())
		kept, err := keep(filepath.Join(dir, f.Name()), to, p.cfg.Spec.ArtifactLimit)
		if err != nil {
			continue
		}
		kept.Name = f.Name()
		p.outcome.Kept = append(p.outcome.Kept, kept)
		p.outcome.KeptFiles[f.Name()] = to
	}
}

// keep moves a file, cut to so many bytes.
func keep(from, to string, limit int64) (model.KeptFile, error) {
	info, err := os.Lstat(from)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return model.KeptFile{}, err
	}
	out := model.KeptFile{Size: min(info.Size(), limit), Cut: info.Size() > limit}
	if out.Cut {
		err = os.Truncate(from, limit)
	}
	if err == nil {
		err = os.Rename(from, to)
	}
	return out, err
}
