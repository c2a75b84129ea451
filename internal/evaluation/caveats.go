package evaluation

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/observe"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Caveats defines what speaks against findings and scalings, beside what disturbed
// the nodes (observe.Caveats).
var Caveats = caveat.Table{
	notOver, stepsLost, tasksFailed, failedAttempts, changedBetween, changedDuring, unknownCPUs, unequalCPUs,
	incompleteTrials, noCompleteTrial, differentNodes, noValues, noDirection,
	missingTogether, missingAlone, missingResult, noTimes, littleOverlap, poorOverlap, wholeOverlap, wholeTasks,
	counterDiffers,
	noSerial, noParallel, serialOnly, parallelOnly, noSummary, noIndex, onlyMeans, fromFile, uncontendedEnd,
	noInterval, oneSubject, unbounded, noScatter, copiedRows, tooWide, unclear, oneTrial, trialsDiffer,
	fewNodes, unlikeAlone, unlikeLoss, takenProcessors, wokenCores,
	sizeMissing, sizeOverlap, sizesUneven, sizesLost, sizeSummary, oneSize, onePastKnee, fewSizes,
	noCurve, curveMisses, capInterval, fallsPeak, fallsPast, scatters, stillGrows, noLevelTest, groupsAlike,
	platformUnknown, otherSize, disturbedApart, otherParameters,
}

// Reason is what a caveat of a finding says by itself.
func Reason(c caveat.Caveat) caveat.Text { return slices.Concat(Caveats, observe.Caveats).Reason(c) }

// Places are those of findings.
func Places(findings []Finding) []caveat.Place {
	out := make([]caveat.Place, len(findings))
	for i := range findings {
		f := &findings[i]
		out[i] = caveat.Place{About: caveat.Subject{Workload: f.Workload}, Caveats: &f.Doubts, Warnings: &f.Warnings}
	}
	return out
}

// CodeNoSerial is the code of the caveat that nothing was measured alone.
const CodeNoSerial = "no_serial"

// CodeNoCurve is the code of the caveats that no curve describes the totals.
const CodeNoCurve = "no_curve"

func because(err error) caveat.Cause { return caveat.Because("", err.Error()) }

// subjects are some of what is measured, by name.
type subjects struct {
	Of    Subjects       `json:"of"`
	Nodes []model.NodeID `json:"nodes"`
}

func (s subjects) String() string { return named(s.Of, s.Nodes) }

// measuredAs says only what is measured: nodes or pairs.
type measuredAs struct {
	Of Subjects `json:"of"`
}

// What the run says of itself.
var (
	notOver = caveat.Define("not_over", func(a runState) string {
		text := "the run is " + string(a.State)
		if a.Reason != "" {
			text += " (" + string(a.Reason) + ")"
		}
		return text + ": the finding rests on what was measured so far"
	})
	stepsLost = caveat.Define("steps_lost", func(a lostSteps) string {
		return fmt.Sprintf("%s of %d without a valid result, left out: %s", num.Count(len(a.Lost), "step"), a.All,
			listed(a.Lost))
	})
	tasksFailed = caveat.Define("tasks_failed", func(a failedTasks) string {
		return fmt.Sprintf("%s did not end well before the attempt that counts: %s", num.Count(len(a.Failed), "task"),
			listed(a.Failed))
	})
	failedAttempts = caveat.DefineAbout("errors", func(about caveat.Caveat, a attempts) string {
		return fmt.Sprintf("%s answered with errors: %s a task of kind %s when all work, %s alone; each costs an "+
			"attempt, and a limit of requests shows in that way", about.Workload, number(a.Together), a.Kind, number(a.Alone))
	})
	changedBetween = caveat.Define("node_changed", func(a change) string {
		return fmt.Sprintf("node %s changed between two measurements: %s", a.Node, a.Event)
	})
	changedDuring = caveat.Define("node_changed", func(a changeElsewhere) string {
		return fmt.Sprintf("node %s changed during the run, but not between measurements of %s: %s", a.Node, a.Workload,
			a.Event)
	})
	unknownCPUs = caveat.Define("unknown_cpus", func(a unknownModels) string {
		return num.Count(a.Nodes, "node") + " without a known CPU model, so the nodes may be unequal"
	})
	unequalCPUs = caveat.Define("unequal_cpus", func(a cpuModels) string { return "unequal CPUs: " + listed(a.Models) })
)

type (
	runState struct {
		State  model.RunState  `json:"state"`
		Reason caveat.Verbatim `json:"reason,omitempty"`
	}
	lostSteps struct {
		Lost []lostStep `json:"lost"`
		All  int        `json:"all"`
	}
	lostStep struct {
		Phase  model.Phase     `json:"phase"`
		Node   model.NodeID    `json:"node,omitempty"` // of a serial step
		Trial  int             `json:"trial"`
		State  model.StepState `json:"state"`
		Reason caveat.Verbatim `json:"reason,omitempty"`
	}
	failedTasks struct {
		Failed []failedTask `json:"failed"`
	}
	failedTask struct {
		Node    model.NodeID  `json:"node"`
		Outcome model.Outcome `json:"outcome"`
		Phase   model.Phase   `json:"phase"`
		Trial   int           `json:"trial"`
		Attempt int           `json:"attempt"`
	}
	// attempts are the errors a task, by phase.
	attempts struct {
		Kind     caveat.Verbatim `json:"kind"`
		Together float64         `json:"together"`
		Alone    float64         `json:"alone"`
	}
	change struct {
		Node  model.NodeID    `json:"node"`
		Event caveat.Verbatim `json:"event"`
	}
	changeElsewhere struct {
		Node     model.NodeID    `json:"node"`
		Event    caveat.Verbatim `json:"event"`
		Workload caveat.Verbatim `json:"workload"`
	}
	unknownModels struct {
		Nodes int `json:"nodes"`
	}
	cpuModels struct {
		Models []cpuModel `json:"models"`
	}
	cpuModel struct {
		Nodes int             `json:"nodes"`
		Model caveat.Verbatim `json:"model"`
	}
)

func (s lostStep) String() string {
	text := fmt.Sprintf("%s, trial %d: %s", stepName(s.Phase, s.Node), s.Trial, s.State)
	if s.Reason != "" {
		text += ", " + string(s.Reason)
	}
	return text
}

func (t failedTask) String() string {
	return fmt.Sprintf("node %s %s (%s, trial %d, attempt %d)", t.Node, t.Outcome, t.Phase, t.Trial, t.Attempt)
}

func (m cpuModel) String() string { return fmt.Sprintf("%d × %s", m.Nodes, m.Model) }

// What is missing.
var (
	incompleteTrials = caveat.Define("incomplete_trials", func(a leftOut) string {
		return "left out, because not complete in both phases: " + listed(a.Trials)
	})
	noCompleteTrial = caveat.Define("incomplete_trials", func(a keptAll) string {
		return "no trial is complete in both phases: " + listed(a.Trials) + "; the numbers cover only what there is"
	})
	differentNodes = caveat.Define("different_nodes", func(a fleets) string {
		return fmt.Sprintf("the parallel trials ran on different %ss (%s and %s)", a.Of, num.List(a.Before), num.List(a.Now))
	})
	noValues    = caveat.Define("no_values", func(struct{}) string { return "no valid result reported a metric" })
	noDirection = caveat.Define("no_direction", func(a direction) string {
		return fmt.Sprintf("%s does not say which direction is better (%q); taken as higher", a.Metric, string(a.Better))
	})
	missingTogether = caveat.Define("missing_values", func(a missingParallel) string {
		return fmt.Sprintf("parallel, trial %d: %s of %d gave no usable %s", a.Trial, named(a.Of, a.Nodes), a.All, a.Metric)
	})
	missingAlone = caveat.Define("missing_values", func(a missingSerial) string {
		return fmt.Sprintf("serial, trial %d: %s gave no usable %s", a.Trial, named(a.Of, a.Nodes), a.Metric)
	})
	missingResult = caveat.Define("missing_values", func(a unreadable) string {
		return fmt.Sprintf("%s, trial %d: node %s, task %s: %s; left out", a.Phase, a.Trial, a.Node, a.Task, a.Error)
	})
	noSerial   = caveat.Define(CodeNoSerial, func(struct{}) string { return "there are no serial values to compare with" })
	noParallel = caveat.Define("no_parallel", func(struct{}) string { return "there are no parallel values" })
	serialOnly = caveat.Define("serial_only", func(a subjects) string {
		return a.String() + ": serial value only; left out"
	})

	parallelOnly = caveat.Define("parallel_only", func(a subjects) string {
		return a.String() + " took part in the parallel phase and has no serial value"
	})
	onlyMeans = caveat.Define("only_means", func(struct{}) string {
		return "only means over the nodes are given: there is no interval, and least, largest and SD are not known"
	})
	fromFile = caveat.Define("from_a_file", func(struct{}) string {
		return "the numbers come from a file: it is unknown whether the nodes were active together and whether they are equal"
	})
)

type (
	leftOut struct {
		Trials []lackingTrial `json:"trials"`
	}
	keptAll struct {
		Trials []lackingTrial `json:"trials"`
	}
	fleets struct {
		Of     Subjects       `json:"of"`
		Before []model.NodeID `json:"before"`
		Now    []model.NodeID `json:"now"`
	}
	direction struct {
		Metric caveat.Verbatim `json:"metric"`
		Better caveat.Verbatim `json:"better"`
	}
	missingSerial struct {
		Trial  int             `json:"trial"`
		Of     Subjects        `json:"of"`
		Nodes  []model.NodeID  `json:"nodes"`
		Metric caveat.Verbatim `json:"metric"`
	}
	missingParallel struct {
		Trial  int             `json:"trial"`
		Of     Subjects        `json:"of"`
		Nodes  []model.NodeID  `json:"nodes"`
		All    int             `json:"all"`
		Metric caveat.Verbatim `json:"metric"`
	}
	unreadable struct {
		Phase model.Phase     `json:"phase"`
		Trial int             `json:"trial"`
		Node  model.NodeID    `json:"node"`
		Task  model.TaskID    `json:"task"`
		Error caveat.Verbatim `json:"error"`
	}
)

// How well the phases compare.
var (
	noTimes = caveat.Define("no_times", func(a untimed) string {
		return fmt.Sprintf("parallel, trial %d: tasks without start and end times; it is unknown whether they ran together",
			a.Trial)
	})
	littleOverlap = caveat.Define("overlap", func(a tooLittle) string {
		advice := "give every node the same running time instead of the same amount of work"
		if a.Length > 0 {
			advice = fmt.Sprintf("the tasks take %s and start up to %s apart: let them take longer", num.Seconds(a.Length),
				num.Seconds(a.Skew))
		}
		return fmt.Sprintf("all nodes were active together for only %.0f %% of the time from the first start to the "+
			"last end (at least %.0f %% required): %s", 100*a.Overlap, 100*minOverlap, advice)
	})
	poorOverlap = caveat.Define("overlap", func(a commonOnly) string {
		return fmt.Sprintf("poor overlap: all nodes were active together for %.0f %% of the time; only that time is scored",
			100*a.Overlap)
	})
	wholeOverlap = caveat.Define("overlap", func(a wholeScored) string {
		return fmt.Sprintf("poor overlap: all nodes were active together for %.0f %% of the time, and whole tasks are "+
			"scored, so that degradation is understated", 100*a.Overlap) + a.Effect.Words()
	})
	wholeTasks = caveat.Define("whole_tasks", func(a caveat.Cause) string {
		return "scored on whole tasks, not in the common window: " + string(a.Why)
	})
	uncontendedEnd = caveat.Define("uncontended_end", func(a twoIndices) string {
		return fmt.Sprintf("over whole tasks the CDI would be %.1f %% instead of %.1f %%: %ss that finished early left the "+
			"others uncontended", a.Whole, a.Index, a.Of)
	})
	takenProcessors = caveat.Define("taken_processors", func(a givenBack) string {
		return fmt.Sprintf("other programs took up to %.2f processors from the nodes in parallel steps; the "+
			"values there are raised by %s in all, the least that this cost", a.Processors, num.Fraction(a.Raised))
	})
	wokenCores = caveat.Define("woken_cores", func(a raised) string {
		return "each second of a core did " + num.Fraction(a.Raised) +
			" more work when all worked, as cores that sleep between " +
			"the periods of a quota can cause; serial values are raised by it"
	})
	fewNodes = caveat.Define("few_nodes", func(a few) string {
		return fmt.Sprintf("only %d %ss: they say little about others of their kind; %d or more are better", a.Nodes, a.Of,
			leastNodes)
	})
	unlikeAlone = caveat.Define("unlike_alone", func(a partsAlone) string {
		f := Finding{Of: a.Of, Nodes: a.Nodes, SerialParts: a.Parts, Unit: string(a.Unit), Resource: string(a.Resource)}
		return f.SerialPartsText() + ": look for what these have alone"
	})
	unlikeLoss = caveat.Define("unlike_loss", func(a partsTogether) string {
		text := Finding{Of: a.Of, Nodes: a.Nodes, Parts: a.Parts}.PartsText()
		if a.Nodes == 2 {
			return text + ": the mean describes neither; look for how they differ"
		}
		return text + ": the mean describes none of them; look for what they have in common"
	})
)

type (
	untimed struct {
		Trial int `json:"trial"`
	}
	// tooLittle: Length and Skew, in seconds, are of tasks that were given the same
	// time; 0: they were not.
	tooLittle struct {
		Overlap float64 `json:"overlap"`
		Length  float64 `json:"length,omitempty"`
		Skew    float64 `json:"skew,omitempty"`
	}
	commonOnly struct {
		Overlap float64 `json:"overlap"`
	}
	wholeScored struct {
		Overlap float64         `json:"overlap"`
		Effect  *observe.Effect `json:"effect,omitempty"`
	}
	twoIndices struct {
		Of    Subjects `json:"of"`
		Index float64  `json:"index"`
		Whole float64  `json:"whole"`
	}
	givenBack struct {
		Processors float64 `json:"processors"`
		Raised     float64 `json:"raised"` // as a share
	}
	raised struct {
		Raised float64 `json:"raised"` // as a share
	}
	few struct {
		Of    Subjects `json:"of"`
		Nodes int      `json:"nodes"`
	}
	partsTogether struct {
		Of    Subjects `json:"of"`
		Nodes int      `json:"nodes"`
		Parts []Part   `json:"parts"`
	}
	partsAlone struct {
		Of       Subjects        `json:"of"`
		Nodes    int             `json:"nodes"`
		Parts    []Part          `json:"parts"`
		Unit     caveat.Verbatim `json:"unit"`
		Resource caveat.Verbatim `json:"resource,omitempty"`
	}
)

// listed is num.List of what says itself.
func listed[S fmt.Stringer](all []S) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return num.List(texts)
}

// number prints a value, to four significant digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
