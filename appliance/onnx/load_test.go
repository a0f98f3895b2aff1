package onnx

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skewgate/skewgate/appliance/detect"
)

func manifest(path string) Manifest {
	return Manifest{Model: path, Layout: LayoutYOLOv8, Threshold: .25, NMSIoU: .5, MaxBoxes: 300}
}

// One class "a", two candidates: the first is the middle quarter of the input.
var oneClass = output([]row{{32, 32, 32, 32, []float32{.75}}, {0, 0, 1, 1, []float32{0}}}, 1)

func port(g graph, change func(in, out *graphPort)) graph {
	in, out := g.inputs[0], g.outputs[0]
	change(&in, &out)
	g.inputs, g.outputs = []graphPort{in}, []graphPort{out}
	return g
}

func with(g graph, key, value string) graph {
	meta := map[string]string{}
	for k, v := range g.meta {
		meta[k] = v
	}
	meta[key] = value
	if value == "" {
		delete(meta, key)
	}
	g.meta = meta
	return g
}

// Each wrong model is refused with what is wrong and what to do, by the real runtime where it is
// the one to see it. // FAULTS F51, R003-41
func TestLoadRefuses(t *testing.T) {
	needRuntime(t)
	good := yolo(oneClass, 2, "{0: 'a'}")
	for _, tt := range []struct {
		name  string
		graph graph
		want  []string
	}{
		{"Float16", port(good, func(in, out *graphPort) { in.elem, out.elem, out.value = 10, 10, nil }), []string{"float16", "half=False"}},
		{"Float16Output", port(good, func(in, out *graphPort) { out.elem, out.value = 10, nil }), []string{`"output0" float16`, "half=False"}},
		{"Bytes", port(good, func(in, out *graphPort) { in.elem = 2 }), []string{"uint8", "is not float32"}},
		{"ChannelsLast", port(good, func(in, out *graphPort) { in.dims = []int64{1, 64, 64, 3} }), []string{"(1,64,64,3)", "channels first"}},
		{"Batch", port(good, func(in, out *graphPort) { in.dims = []int64{4, 3, 64, 64} }), []string{"4 pictures at once", "batch=1"}},
		{"TooSmall", port(good, func(in, out *graphPort) { in.dims = []int64{1, 3, 16, 16} }), []string{"16×16", "32…4096"}},
		{"TooBig", port(good, func(in, out *graphPort) { in.dims = []int64{1, 3, 8192, 64} }), []string{"64×8192"}},
		{"FlatInput", port(good, func(in, out *graphPort) { in.dims = []int64{1, 12288} }), []string{"(1,12288)", "(1,3,height,width)"}},
		{"OpenSizeUnknown", with(port(good, func(in, out *graphPort) { in.dims = []int64{1, 3, -1, -1} }), "imgsz", ""), []string{"leaves its size open", "fixed size"}},
		{"OpenSizeContradicts", port(good, func(in, out *graphPort) { in.dims = []int64{1, 3, 96, -1} }), []string{"disagree"}},
		{"Transposed", port(good, func(in, out *graphPort) { out.dims, out.value = []int64{1, 8400, 5}, nil }), []string{"(1,8400,5)", "axes swapped"}},
		{"YOLOv5", port(good, func(in, out *graphPort) { out.dims, out.value = []int64{1, 25200, 6}, nil }), []string{"(1,25200,6)", "YOLOv5"}},
		{"EndToEnd", port(good, func(in, out *graphPort) { out.dims, out.value = []int64{1, 300, 6}, nil }), []string{"end-to-end", "not in this version"}},
		{"MoreRows", port(good, func(in, out *graphPort) { out.dims, out.value = []int64{1, 37, 8400}, nil }), []string{"(1,37,8400)", "1 class names"}},
		{"FourDims", port(good, func(in, out *graphPort) { out.dims, out.value = []int64{1, 5, 8, 8}, nil }), []string{"(1,5,8,8)", "is not (1,4+classes,candidates)"}},
		{"NoNames", with(good, "names", ""), []string{"no class names", "manifest under names"}},
		{"NamesNone", with(good, "names", "None"), []string{"cannot be read", "want {"}},
		{"NamesEmpty", with(good, "names", "{}"), []string{"names no class"}},
		{"NamesLie", with(good, "names", "{0: 'a', 1: 'b'}"), []string{"2 class names do not fit"}},
		{"Pose", with(good, "task", "pose"), []string{`task is "pose"`}},
		{"TwoInputs", func() graph {
			g := good
			g.inputs = append(g.inputs[:1:1], graphPort{name: "orig_target_sizes", elem: 7, dims: []int64{1, 2}})
			return g
		}(), []string{"2 inputs and 1 outputs", "RT-DETR"}},
		{"TensorRT", func() graph {
			g := good
			g.outputs = append(g.outputs[:1:1], graphPort{name: "num_dets", elem: 7, dims: []int64{1, 1}})
			return g
		}(), []string{"1 inputs and 2 outputs", "TensorRT"}},
		{"UnknownOperator", func() graph { g := good; g.op = "YourNMS"; return g }(), []string{"plug-ins", "YourNMS"}},
		{"PlugInOperator", func() graph {
			g := good
			g.op, g.domain = "EfficientNMS_TRT", "TRT"
			return g
		}(), []string{"plug-ins", "TRT"}},
		{"NewerONNX", func() graph { g := good; g.opset = 99; return g }(), []string{"newer ONNX", "opset"}},
		{"ExternalWeights", func() graph { g := good; g.external = true; return g }(), []string{"second file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := manifest(tt.graph.write(t))
			d, err := Load(&m, 1)
			if err == nil {
				d.Close()
				t.Fatal("want an error, it loaded")
			}
			for _, want := range append(tt.want, m.Model) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	needRuntime(t)
	whole, err := os.ReadFile(models + "shapes_yolo.onnx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name, path string
		want       []string
	}{
		{"Missing", filepath.Join(dir, "gone.onnx"), []string{"no such file", "manifest's model"}},
		{"Folder", dir, []string{"must be a file"}},
		{"Empty", file("empty.onnx", nil), []string{"must be a file of 1…"}},
		{"Truncated", file("cut.onnx", whole[:len(whole)/2]), []string{"no whole ONNX model"}},
		{"CutByOne", file("cut1.onnx", whole[:len(whole)-1]), []string{"no whole ONNX model"}},
		{"Text", file("text.onnx", []byte("404 page not found\n")), []string{"no whole ONNX model"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := manifest(tt.path)
			_, err := Load(&m, 1)
			if err == nil {
				t.Fatal("want an error")
			}
			for _, want := range append(tt.want, tt.path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

// What is hashed is one file, so a model in two is refused even when both are there.
func TestLoadRefusesExternalWeights(t *testing.T) {
	needRuntime(t)
	g := yolo(oneClass, 2, "{0: 'a'}")
	g.external = true
	m := manifest(g.write(t))
	if err := os.WriteFile(filepath.Join(filepath.Dir(m.Model), "weights.bin"), make([]byte, 4*len(oneClass)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(&m, 1); err == nil || !strings.Contains(err.Error(), "second file") {
		t.Errorf("want the second file named, got %v", err)
	}
}

func TestLoadChecksHash(t *testing.T) {
	needRuntime(t)
	m := manifest(yolo(oneClass, 2, "{0: 'a'}").write(t))
	m.SHA256 = strings.Repeat("ab", 32)
	if _, err := Load(&m, 1); err == nil || !strings.Contains(err.Error(), "the manifest wants abab") {
		t.Fatalf("want the two hashes told, got %v", err)
	}
	d := mustLoad(t, manifest(m.Model))
	m.SHA256 = strings.ToUpper(d.Info().SHA256)
	mustLoad(t, m)
}

func TestManifestCheck(t *testing.T) {
	bad := Manifest{SHA256: "12", Layout: "yolov5", Threshold: -0.1, NMSIoU: 1.5, MaxBoxes: 1001, Names: []string{"a", ""}}
	err := bad.Check()
	if err == nil {
		t.Fatal("want errors")
	}
	for _, want := range []string{"model is empty", `sha256 "12"`, `layout "yolov5"`, "threshold -0.1", "nms_iou 1.5", "max_boxes 1001", "name 1 is empty"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q among: %v", want, err)
		}
	}
	good := manifest("x.onnx")
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

func TestThreadsRefused(t *testing.T) {
	needRuntime(t)
	m := manifest(yolo(oneClass, 2, "{0: 'a'}").write(t))
	for _, n := range []int{0, -1, maxThreads + 1} {
		if _, err := Load(&m, n); err == nil || !strings.Contains(err.Error(), "threads") {
			t.Errorf("%d threads: want an error, got %v", n, err)
		}
	}
}

// The whole way over a model whose answer is known: picture in, boxes out in fractions of the frame.
func TestConstantModel(t *testing.T) {
	d := mustLoad(t, manifest(yolo(oneClass, 2, "{0: 'a'}").write(t)))
	if err := d.WarmUp(3); err != nil {
		t.Fatal(err)
	}
	got := find(t, d, warmPicture(128, 96)) // in 64×64: 64×48 with 8 of grey above
	want := []detect.Box{{X1: .25, Y1: 1.0 / 6, X2: .75, Y2: 5.0 / 6, Score: .75}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	if i := d.Info(); i.Width != 64 || i.Height != 64 || i.Candidates != 2 || i.Layout != LayoutYOLOv8 || cmp.Diff([]string{"a"}, i.Names) != "" {
		t.Errorf("info %+v", i)
	}
}

// A model that leaves sizes open takes them from its metadata and from a first run.
func TestOpenSizes(t *testing.T) {
	g := port(yolo(oneClass, 2, "{0: 'a'}"), func(in, out *graphPort) {
		in.dims = []int64{-1, 3, -1, -1}
		out.real, out.dims = out.dims, []int64{-1, 5, -1}
	})
	d := mustLoad(t, manifest(g.write(t)))
	if i := d.Info(); i.Width != 64 || i.Height != 64 || i.Candidates != 2 {
		t.Errorf("info %+v", i)
	}
	if got := find(t, d, warmPicture(64, 64)); len(got) != 1 || got[0].Score != .75 {
		t.Errorf("want one box of .75, got %v", got)
	}
	// What turns out must be of the layout too.
	g = port(g, func(in, out *graphPort) { out.dims, out.real, out.value = []int64{1, -1, -1}, []int64{1, 7, 2}, nil })
	m := manifest(g.write(t))
	if _, err := Load(&m, 1); err == nil {
		t.Error("a model with an open row count loaded")
	}
}

// A layout that only the numbers betray is refused by the warm-up, not published.
func TestWarmUpRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		r          row
	}{
		{"Logits", "without sigmoid", row{32, 32, 8, 8, []float32{-3}}},
		{"Pixels", "score 61", row{32, 32, 8, 8, []float32{61}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := mustLoad(t, manifest(yolo(output([]row{tt.r}, 1), 1, "{0: 'a'}").write(t)))
			if err := d.WarmUp(3); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v", tt.want, err)
			}
		})
	}
}

// An error on one picture leaves the detector good for the next.
func TestGoesOnAfterABadPicture(t *testing.T) {
	d := mustLoad(t, manifest(yolo(oneClass, 2, "{0: 'a'}").write(t)))
	p := warmPicture(64, 64)
	if err := d.Prepare(Picture{p.Pixels[:100], 64, 64}); !errors.Is(err, ErrPicture) {
		t.Fatalf("want ErrPicture, got %v", err)
	}
	if err := d.Run(); err == nil || !strings.Contains(err.Error(), "no picture is prepared") {
		t.Fatalf("want Run refused, got %v", err)
	}
	if _, err := d.Boxes(nil); err == nil {
		t.Fatal("want Boxes refused")
	}
	if got := find(t, d, p); len(got) != 1 {
		t.Errorf("want one box, got %v", got)
	}
}

// Pictures of several sizes in turn leave nothing of each other in the grey.
func TestSizesInTurn(t *testing.T) {
	d := mustLoad(t, manifest(yolo(oneClass, 2, "{0: 'a'}").write(t)))
	for i := range 3 * maxPlans {
		p := warmPicture(64+i%(maxPlans+5), 33)
		if err := d.Prepare(p); err != nil {
			t.Fatal(err)
		}
		if want := prepared(t, p, 64, 64); !slices.Equal(want, d.session.in) {
			t.Fatalf("picture %d of %d×%d differs from a fresh tensor", i, p.Width, p.Height)
		}
		if len(d.plans) > maxPlans {
			t.Fatalf("%d plans kept", len(d.plans))
		}
	}
}

func TestAfterClose(t *testing.T) {
	needRuntime(t)
	m := manifest(yolo(oneClass, 2, "{0: 'a'}").write(t))
	d, err := Load(&m, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if err := d.Prepare(warmPicture(64, 64)); err == nil {
		t.Error("want Prepare refused after Close")
	}
}

func TestInspect(t *testing.T) {
	needRuntime(t)
	in, err := Inspect(models+"shapes_yolo.onnx", nil)
	if err != nil {
		t.Fatal(err)
	}
	if in.Problem != "" || in.LooksLike != LayoutYOLOv8 || cmp.Diff([]string{"circle", "square", "triangle"}, in.Names) != "" {
		t.Errorf("inspection %+v", in)
	}
	if got := in.Inputs[0].String(); got != `"images" float32 (1,3,320,320)` {
		t.Errorf("input %s", got)
	}
	mustLoad(t, *in.Proposal) // what is proposed loads

	in, err = Inspect(models+"encoder.onnx", nil)
	if err != nil {
		t.Fatal(err)
	}
	if in.Problem == "" || in.Proposal != nil {
		t.Errorf("the encoder is no detector: %+v", in)
	}
	g := with(yolo(oneClass, 2, ""), "names", "")
	in, err = Inspect(g.write(t), nil)
	if err != nil || in.LooksLike == LayoutYOLOv8 && in.Proposal != nil {
		t.Errorf("without names nothing is proposed: %+v, %v", in, err)
	}
	in, err = Inspect(g.write(t), []string{"a"})
	if err != nil || in.Proposal == nil {
		t.Errorf("with names given it is: %+v, %v", in, err)
	}
}
