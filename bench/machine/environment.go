package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An Environment is what figures depend on beside the code. Text that the machine does
// not tell is "".
type Environment struct {
	Time        time.Time `json:"time"`
	Kernel      string    `json:"kernel"`
	CPU         string    `json:"cpu"`
	CPUs        []int     `json:"cpus"` // this process may use
	Online      int       `json:"cpus_online"`
	Siblings    string    `json:"thread_siblings"` // of the first processor: its hardware threads
	Hypervisor  bool      `json:"hypervisor"`
	Governor    string    `json:"governor"`
	ClockSource string    `json:"clock_source"`
	LoadAverage string    `json:"load_average"`
	StealCores  float64   `json:"steal_cores"`  // while the noise floor was taken
	OthersCores float64   `json:"others_cores"` // likewise
	THP         string    `json:"thp"`
	ShmemTHP    string    `json:"thp_shmem"`
	Go          string    `json:"go"`
	CCompiler   string    `json:"c_compiler"`
	Commit      string    `json:"commit"` // "+" at the end: with changes
	Noise       []Gaps    `json:"noise"`  // each processor used, all at once
}

// noiseTime is how long the noise floor is looked for.
const noiseTime = time.Second

// ReadEnvironment describes the machine and spins for a second on each of cpus. source
// is the checkout, for the commit; "" = not known.
func ReadEnvironment(source string, cpus []int) (Environment, error) {
	e := Environment{
		Time: time.Now().UTC().Truncate(time.Second), Kernel: kernel(), Online: runtime.NumCPU(), Go: runtime.Version(),
		Governor:    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockSource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		LoadAverage: line("/proc/loadavg"),
		THP:         chosen(line("/sys/kernel/mm/transparent_hugepage/enabled")),
		ShmemTHP:    chosen(line("/sys/kernel/mm/transparent_hugepage/shmem_enabled")),
		CCompiler:   firstLine("gcc", "--version"), Commit: commit(source),
	}
	e.CPU, e.Hypervisor = processor()
	var err error
	if e.CPUs, err = Allowed(); err != nil {
		return e, err
	}
	e.Siblings = line(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", e.CPUs[0]))
	before, err := ReadUsage()
	if err != nil {
		return e, err
	}
	if e.Noise, err = NoiseFloor(cpus, noiseTime); err != nil {
		return e, err
	}
	after, err := ReadUsage()
	if err != nil {
		return e, err
	}
	load := after.Since(before)
	e.StealCores, e.OthersCores = load.Steal, load.Others
	return e, nil
}

// line is the first line of a file of the kernel, or "".
func line(path string) string {
	text, _ := os.ReadFile(path) // not there is an answer too
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// chosen is the word in brackets of "always [madvise] never".
func chosen(s string) string {
	_, rest, ok := strings.Cut(s, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return s
	}
	return word
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
}

// processor is the model in /proc/cpuinfo, and whether it runs under a hypervisor. On
// arm64 there is no model name; implementer and part say as much.
func processor() (model string, hypervisor bool) {
	text, _ := os.ReadFile("/proc/cpuinfo")
	var details []string
	for l := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(l, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case name == "" && (model != "" || details != nil): // end of the first processor
			return cpuName(model, details), hypervisor
		case name == "model name":
			model = value
		case name == "cpu family" || name == "model" || strings.HasPrefix(name, "CPU "):
			details = append(details, name+" "+value)
		case name == "flags":
			hypervisor = strings.Contains(" "+value+" ", " hypervisor ")
		}
	}
	return cpuName(model, details), hypervisor
}

func cpuName(model string, details []string) string {
	return strings.TrimSpace(model + " (" + strings.Join(details, ", ") + ")")
}

func firstLine(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(first)
}

// commit asks git about the checkout, else what the go tool stamped into the program.
func commit(source string) string {
	if source != "" {
		git := func(args ...string) string {
			return firstLine("git", append([]string{"-c", "safe.directory=*", "-C", filepath.Clean(source)}, args...)...)
		}
		if head := git("rev-parse", "HEAD"); head != "" {
			if git("status", "--porcelain", "--untracked-files=no") != "" {
				head += "+"
			}
			return head
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
