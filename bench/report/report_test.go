package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/bench/machine"
)

func TestSpread(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"none", nil, Spread{}},
		{"one", []float64{7}, Spread{7, 7, 7, 1}},
		{"odd", []float64{9, 1, 5}, Spread{5, 1, 9, 3}},
		{"even", []float64{4, 1, 2, 8}, Spread{3, 1, 8, 4}},
	}
	for _, test := range tests {
		if got := NewSpread(test.values); got != test.want {
			t.Errorf("%s: want %+v, got %+v", test.name, test.want, got)
		}
	}
	a, b, c := Spread{Min: 1, Max: 2}, Spread{Min: 2, Max: 3}, Spread{Min: 2.5, Max: 4}
	if a.Apart(b) || !a.Apart(c) || !c.Apart(a) {
		t.Error("ranges that touch are not apart, others are")
	}
}

// runs makes quiet runs of the values, those below 0 as busy runs of the opposite.
func runs(values ...float64) []Run {
	var out []Run
	for _, v := range values {
		out = append(out, Run{Value: math.Abs(v), Peer: 10, Quiet: v > 0})
	}
	return out
}

func TestSettleKeepsBusyRunsInSight(t *testing.T) {
	r := Row{Runs: runs(5, -100, 6, 7)}
	r.Settle(3)
	if want := (Spread{6, 5, 7, 3}); r.Figure != want || r.Doubt != "" {
		t.Errorf("enough quiet runs: want %+v of them alone, got %+v, doubt %q", want, r.Figure, r.Doubt)
	}
	if len(r.Runs) != 4 {
		t.Errorf("a busy run was dropped from the record: %+v", r.Runs)
	}
	r = Row{Runs: runs(5, -100, -6)}
	r.Settle(3)
	if want := (Spread{5, 5, 5, 1}); r.Figure != want || r.Doubt != "few quiet runs" {
		t.Errorf("too few quiet runs: want those and a doubt, got %+v, doubt %q", r.Figure, r.Doubt)
	}
	r = Row{Runs: runs(-5, -100, -6)}
	r.Settle(3)
	if want := (Spread{6, 5, 100, 3}); r.Figure != want || r.Doubt != "busy machine" {
		t.Errorf("no quiet run: want all to count and a doubt, got %+v, doubt %q", r.Figure, r.Doubt)
	}
}

func TestSettleDividesPairs(t *testing.T) {
	r := Row{PeerName: "C", Runs: []Run{{Value: 10, Peer: 10, Quiet: true}, {Value: 30, Peer: 10, Quiet: true}, {Value: 20, Peer: 100, Quiet: true}}}
	r.Settle(3)
	// The median of the pairs' ratios, not the ratio of the medians: pairs ran side by side.
	if want := (Spread{1, 0.2, 3, 3}); r.Figure != want {
		t.Errorf("want %+v, got %+v", want, r.Figure)
	}
	if r.Ours.Median != 20 || r.Peer.Median != 10 {
		t.Errorf("want both sides' medians 20 and 10, got %v and %v", r.Ours.Median, r.Peer.Median)
	}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name string
		row  Row
		want Verdict
	}{
		{"at most, met", Row{Bound: Bound{AtMost, 30}, Runs: runs(30)}, Met},
		{"at most, missed", Row{Bound: Bound{AtMost, 30}, Runs: runs(30.1)}, Missed},
		{"at least, met", Row{Bound: Bound{AtLeast, 14}, Runs: runs(14)}, Met},
		{"at least, missed", Row{Bound: Bound{AtLeast, 14}, Runs: runs(13.9)}, Missed},
		{"busy is judged too", Row{Bound: Bound{AtLeast, 14}, Runs: runs(-13.9)}, Missed},
		{"no bound", Row{Runs: runs(1)}, NoBound},
		{"part not there", Row{Bound: Bound{AtMost, 1}, Missing: "no such part"}, NotMeasured},
		{"no run", Row{Bound: Bound{AtMost, 1}}, NotMeasured},
		{"peer took no time", Row{PeerName: "C", Bound: Bound{AtMost, 1}, Runs: []Run{{Value: 1}}}, NotMeasured},
	}
	var rep Report
	for _, test := range tests {
		test.row.Settle(1)
		if got := test.row.Verdict(); got != test.want {
			t.Errorf("%s: want %s, got %s", test.name, test.want, got)
		}
		rep.Rows = append(rep.Rows, test.row)
	}
	if missed, none := rep.Missed(); missed != 3 || none != 3 {
		t.Errorf("want 3 missed, 3 without a figure, got %d, %d", missed, none)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{28.361, "ns", "28.36 ns"}, {345.6, "ns", "345.6 ns"}, {40_123, "ns", "40.12 µs"}, {5_000_000, "ns", "5.000 ms"},
		{14e6, "msg/s", "14.00 M/s"}, {177, "msg/s", "177.0 msg/s"}, {0.4, "", "0.400"}, {0, "allocs", "0.000 allocs"},
		{0.71, "%", "0.710 %"}, {123_456, "%", "123456 %"},
	}
	for _, test := range tests {
		if got := number(test.v, test.unit); got != test.want {
			t.Errorf("number(%v, %q): want %q, got %q", test.v, test.unit, test.want, got)
		}
	}
	if got := spread(Spread{Min: 900, Max: 1100, N: 2}, "ns"); got != "900.0 ns…1.100 µs" {
		t.Errorf("spread over two units: got %q", got)
	}
	if got := spread(Spread{Min: 1, Max: 2, N: 2}, "ns"); got != "1.000…2.000 ns" {
		t.Errorf("spread in one unit: got %q", got)
	}
}

func TestTable(t *testing.T) {
	rep := Report{Rows: []Row{
		{Name: "speed", What: "how fast", Unit: "msg/s", RunUnit: "msg/s", Bound: Bound{AtLeast, 14e6}, Runs: runs(15e6, 16e6, -2e6)},
		{Name: "ratio", What: "how fast", RunUnit: "ns", PeerName: "C ring", Bound: Bound{AtMost, 1.4}, Runs: runs(-20)},
		{Name: "other", What: "not here", Unit: "ns", Bound: Bound{AtMost, 1}, Missing: "no compiler"},
	}}
	for i := range rep.Rows {
		rep.Rows[i].Settle(2)
	}
	var out bytes.Buffer
	if err := rep.Table(&out); err != nil {
		t.Fatal(err)
	}
	want := `WHAT   BOUND         MEDIAN     SPREAD           OURS      PEER                     QUIET  VERDICT
speed  >= 14.00 M/s  15.50 M/s  15.00…16.00 M/s  -         -                        2/3    met
ratio  <= 1.400      2.000      2.000…2.000      20.00 ns  10.00 ns (10.00…10.00 ns)   0/1    MISSED (busy machine)
other  <= 1.000 ns   -          -                -         -                        0/0    not measured
speed: how fast
ratio: how fast, ours / C ring
other: not here; not measured: no compiler
`
	if got := out.String(); squeeze(got) != squeeze(want) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

// squeeze makes runs of spaces one.
func squeeze(s string) string {
	var lines []string
	for _, l := range strings.Split(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(lines, "\n")
}

func TestReportRoundTrip(t *testing.T) {
	rep := Report{Schema: Schema, Environment: machine.Environment{CPU: "x", Noise: []machine.Gaps{{CPU: 1, Over1ms: 2}}}, Rows: []Row{
		{Name: "a", Unit: "ns", Bound: Bound{AtMost, 3}, Runs: runs(1, 2)},
	}}
	rep.Rows[0].Settle(1)
	var out bytes.Buffer
	if err := rep.Write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"schema": 1`) {
		t.Errorf("no schema in %s", out.String())
	}
	back, err := Read(&out, "x.json")
	if err != nil {
		t.Fatal(err)
	}
	if back.Rows[0].Figure != rep.Rows[0].Figure || back.Environment.Noise[0] != rep.Environment.Noise[0] || len(back.Rows[0].Runs) != 2 {
		t.Errorf("report changed: %+v", back)
	}
	for name, text := range map[string]string{
		"empty": "", "no JSON": "WHAT BOUND", "other schema": `{"schema":2}`, "none": `{}`, "a list": `[]`,
	} {
		if _, err := Read(strings.NewReader(text), "x.json"); err == nil || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%s: want an error that names the file, got %v", name, err)
		}
	}
}

func TestCompareReports(t *testing.T) {
	row := func(name string, c Compare, values ...float64) Row {
		r := Row{Name: name, Unit: "ns", Bound: Bound{Compare: c, Limit: 1}, Runs: runs(values...)}
		r.Settle(1)
		return r
	}
	a := &Report{Rows: []Row{
		row("slower", AtMost, 10, 11), row("faster", AtMost, 20, 21), row("fewer", AtLeast, 10, 11), row("same", AtMost, 10, 14), row("free", Reported, 1, 1),
		row("gone", AtMost, 1), row("busy", AtMost, -1),
	}}
	b := &Report{Rows: []Row{
		row("slower", AtMost, 12, 13), row("faster", AtMost, 10, 11), row("fewer", AtLeast, 8, 9), row("same", AtMost, 13, 20), row("free", Reported, 2, 2),
		row("new", AtMost, 1), row("busy", AtMost, 3),
	}}
	type said struct{ apart, worse, doubt bool }
	want := map[string]said{
		"slower": {true, true, false}, "faster": {true, false, false}, "fewer": {true, true, false}, "same": {}, "free": {true, false, false}, "busy": {true, true, true},
	}
	changes := CompareReports(a, b)
	for _, c := range changes {
		if got := (said{c.Apart, c.Worse, c.Doubt != ""}); got != want[c.Name] {
			t.Errorf("%s: want %+v, got %+v", c.Name, want[c.Name], got)
		}
	}
	if len(changes) != len(want) {
		t.Errorf("want the %d rows that both have, got %d", len(want), len(changes))
	}
	if c := changes[0]; c.Factor < 1.19 || c.Factor > 1.2 {
		t.Errorf("factor of 10.5 → 12.5: got %v", c.Factor)
	}
	b.Environment.CPU = "another"
	if c := CompareReports(a, b)[0]; c.Doubt == "" {
		t.Error("another machine is no reason for doubt?")
	}
	var out bytes.Buffer
	if err := CompareTable(&out, changes); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"WORSE\n", "differs\n", "no difference shown", "(busy machine)"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("table lacks %q:\n%s", text, out.String())
		}
	}
}
