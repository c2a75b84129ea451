package corpus

import (
	"github.com/scalebench/scalebench/internal/model"
)

// platformCases compare several runs, or platforms of a table.
func platformCases() (out []question) {
	const second = "01J0P1ATF0RM00000000000000"
	runs := func(study, name, params string, a, b *builder) {
		out = append(out, question{name: study + "/platforms/" + name, study: study, params: params, as: "a",
			runs: []model.RunData{a.Data, renumbered(b.Data, second)}, more: []string{"b=" + second}})
	}
	runs("resources", "two runs", "", keeping(31, 2, 3, .9, .01), keeping(32, 2, 3, .5, .01))
	runs("cdi", "two runs", "", keeping(31, 6, 3, .9, .01), keeping(32, 6, 3, .5, .01))
	runs("cdi", "fewer nodes", "", keeping(31, 6, 3, .9, .01), keeping(32, 4, 3, .5, .01))
	runs("cdi", "alike", "", keeping(33, 6, 3, .8, .01), keeping(34, 6, 3, .8, .01))
	runs("cdi", "unclear", "", keeping(33, 6, 3, .8, .2), keeping(34, 6, 3, .8, .2))
	runs("cdi", "disturbed", "", keeping(37, 6, 3, .9, .01),
		hostSees(keeping(38, 6, 3, .8, .01), model.Parallel, disturbing["others"]))
	runs("cdi", "gate", `{"fail_above": 30}`, keeping(31, 6, 3, .9, .01), keeping(32, 6, 3, .5, .01))
	sized := keeping(40, 6, 3, .5, .01)
	for i := range sized.Data.Steps {
		for k := range sized.Data.Steps[i].Tasks {
			sized.Data.Steps[i].Tasks[k].Spec.Params = map[string]any{"size": "4GiB"}
		}
	}
	runs("cdi", "other parameters", "", keeping(39, 6, 3, .9, .01), sized)
	twice := question{name: "cdi/platforms/one name", study: "cdi", as: "a", more: []string{"a=" + second},
		runs: []model.RunData{keeping(31, 6, 3, .9, .01).Data, renumbered(keeping(32, 6, 3, .5, .01).Data, second)}}
	table := func(name, text string) {
		out = append(out, question{name: "cdi/platforms/table, " + name, study: "cdi", table: &file{"clouds.csv", text}})
	}
	table("means", "platform,workload,metric,unit,nodes,serial_mean,parallel_mean\na,io,write,MB/s,8,200,120\n"+
		"b,io,write,MB/s,8,210,180\nb,net,receive,Mbit/s,8,940,935\n")
	return append(out, twice, question{name: "plan/of a table/several platforms", study: "sizing",
		params: `{"target": "300/s", "node_rate": "10/s", "demand": ["io=12MB/s"]}`,
		table:  &file{"clouds.csv", "platform,nodes,serial_mean,parallel_mean\na,8,200,120\nb,8,210,180\n"}})
}
