package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Options are what Load takes from the machine; the zero value means this one.
type Options struct {
	// LookupEnv finds the variable of ${NAME}; os.LookupEnv by default.
	LookupEnv func(name string) (string, bool)
	// IsolatedCPUs is the kernel's list of isolated cores.
	IsolatedCPUs string
}

func (o *Options) fill() {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.IsolatedCPUs == "" {
		o.IsolatedCPUs = "/sys/devices/system/cpu/isolated"
	}
}

// Load reads the config file at path with all manifests it names. It returns every
// problem of all of them, the config file's first, by line. The Config is nil exactly
// when one of them is an error; warnings alone leave it usable.
func Load(path string, opts Options) (*Config, []Problem) {
	opts.fill()
	var out report
	hide := redactor{}
	cfg := load(path, &opts, &out, hide)
	problems := out.finish(path)
	if HasErrors(problems) {
		return nil, problems
	}
	cfg.hide = hide
	return cfg, problems
}

func load(path string, opts *Options, out *report, hide redactor) *Config {
	text, err := readBounded(path, maxFileBytes)
	if err != nil {
		out.add(Problem{SeverityError, path, 0, 0, "", fmt.Sprintf("read config: %v", err), "name another file with -c; docs/config.example.yaml is one to start from"})
		return nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		out.add(Problem{SeverityError, path, 0, 0, "", fmt.Sprintf("find the config's folder: %v", err), "name the file by its whole path"})
		return nil
	}
	d := newDecoder(path, text, opts, out, hide)
	root := d.syntaxTree(text)
	if root == nil {
		return nil
	}
	if _, ok := root.(*ast.MappingNode); !ok {
		d.fail(start(root), "", d.isNot(root, "a section of keys"), "write the keys as key: value, beginning with unit: NAME")
		return nil
	}
	cfg := &Config{File: abs}
	d.decode(root, reflect.ValueOf(cfg).Elem(), "")
	c := checker{decoder: d, cfg: cfg, dir: filepath.Dir(abs)}
	c.all()
	return cfg
}

// resolve makes a path absolute, counted from dir.
func resolve(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
