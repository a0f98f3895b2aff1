package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decoder turns the syntax tree of one file into structs and remembers where each key
// and value stands, so that later checks can name the place.
type decoder struct {
	file  string
	lines []string
	opts  *Options
	out   *report
	hide  redactor
	seen  map[string]place // key path, such as cameras[0].source → where it is
}

// place is where a key and its value stand, and the value's text as the file has it,
// masked: what a message may show.
type place struct {
	key, value mark
	shown      string
}

// defaulter is implemented by structs whose absent keys mean something else than zero.
type defaulter interface{ setDefaults() }

func newDecoder(file string, text []byte, opts *Options, out *report, hide redactor) *decoder {
	return &decoder{
		file: file, lines: strings.Split(string(text), "\n"), opts: opts, out: out, hide: hide,
		seen: map[string]place{},
	}
}

// fail and warn take texts that are already fit to be shown: values through shown, paths
// through redactor.show.
func (d *decoder) fail(at mark, key, text, cure string) {
	d.out.add(Problem{SeverityError, d.file, at.line, at.col, key, text, cure})
}

func (d *decoder) warn(at mark, key, text, cure string) {
	d.out.add(Problem{SeverityWarning, d.file, at.line, at.col, key, text, cure})
}

// lineHas looks at the text itself, for cures that depend on what was written.
func (d *decoder) lineHas(line int, text string) bool {
	return line <= len(d.lines) && strings.Contains(d.lines[line-1], text)
}

// decode fills v from n. It goes on after a problem, so that all are found at once.
func (d *decoder) decode(n ast.Node, v reflect.Value, key string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		d.fail(start(n), key, "anchors, aliases and merge keys are not taken here", "write the value out")
		return
	case *ast.TagNode:
		d.fail(start(n), key, "a YAML tag", "delete the word that begins with !; quote the value if it is meant as text")
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), key)
	case isScalar(v):
		d.scalar(n, v, key)
	case v.Kind() == reflect.Struct:
		d.section(n, v, key)
	case v.Kind() == reflect.Slice:
		d.list(n, v, key)
	case v.Kind() == reflect.Map:
		d.table(n, v, key)
	default:
		panic(fmt.Sprintf("config: no rule for %s at %s", v.Type(), key)) // a fault of ours that any load shows
	}
}

// section decodes a mapping into a struct. An empty one is all defaults.
func (d *decoder) section(n ast.Node, v reflect.Value, key string) {
	if def, ok := v.Addr().Interface().(defaulter); ok {
		def.setDefaults()
	}
	pairs, ok := d.pairs(n, key)
	if !ok {
		return
	}
	// Every field has a yaml tag; a missing one would make its key unknown.
	names := yamlNames(v.Type())
	for _, p := range pairs {
		path := join(key, p.name)
		i := slices.Index(names, p.name)
		if i < 0 {
			d.unknown(p, path, names)
			continue
		}
		d.seen[path] = place{key: p.at, value: start(p.value), shown: d.shown(p.value)}
		d.decode(p.value, v.Field(i), path)
	}
}

// unknown tells a key that no struct has, by name if another version has it.
func (d *decoder) unknown(p pair, path string, names []string) {
	if what := laterKey(path); what != "" {
		d.fail(p.at, path, fmt.Sprintf("not in this version: %s", what), "delete the key")
		return
	}
	d.fail(p.at, path, "unknown key", orNearest(p.name, names, "keys here are "+strings.Join(known(names), ", ")))
}

// known drops the empty names that yamlNames gives to fields without a key.
func known(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
}

// list decodes a sequence into a slice; null is an empty one. Entries that cannot be read
// stay zero, so that the indices of the others, which messages name, are those of the file.
func (d *decoder) list(n ast.Node, v reflect.Value, key string) {
	if _, empty := n.(*ast.NullNode); empty {
		return
	}
	if _, may := v.Interface().(oneOrMany); may {
		if _, _, single := scalarText(n); single {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			d.decode(n, v.Index(0), key)
			return
		}
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(start(n), key, d.isNot(n, "a list"), "write one entry a line, each beginning with -, or [a, b]")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		path := fmt.Sprintf("%s[%d]", key, i)
		d.seen[path] = place{key: start(item), value: start(item), shown: d.shown(item)}
		d.decode(item, v.Index(i), path)
	}
}

// table decodes a mapping with free keys, such as class names. Its keys are taken as
// text, whatever YAML thinks of 0 or yes.
func (d *decoder) table(n ast.Node, v reflect.Value, key string) {
	if _, may := v.Interface().(oneOrEach); may {
		if _, _, single := scalarText(n); single {
			item := reflect.New(v.Type().Elem()).Elem()
			d.decode(n, item, key)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(""), item)
			return
		}
	}
	pairs, ok := d.pairs(n, key)
	if !ok {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, p := range pairs {
		path := join(key, p.name)
		d.seen[path] = place{key: p.at, value: start(p.value), shown: d.shown(p.value)}
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(p.value, item, path)
		v.SetMapIndex(reflect.ValueOf(p.name), item)
	}
}

// pair is one key with its value.
type pair struct {
	name  string
	at    mark
	value ast.Node
}

// pairs returns a mapping's entries without the duplicates, which it tells.
func (d *decoder) pairs(n ast.Node, key string) ([]pair, bool) {
	var list []pair
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, true
	case *ast.MappingNode:
		first := map[string]mark{}
		for _, kv := range n.Values {
			name, at := kv.Key.GetToken().Value, markOf(kv.Key.GetToken())
			if !isPlainKey(kv.Key) {
				d.fail(at, key, "this key is not plain text", "write key: value with a plain word as the key")
				continue
			}
			if earlier, twice := first[name]; twice {
				d.fail(at, join(key, name), fmt.Sprintf("duplicate key, first at line %d", earlier.line), "keep one of the two")
				continue
			}
			first[name] = at
			list = append(list, pair{name, at, kv.Value})
		}
		return list, true
	}
	d.fail(start(n), key, d.isNot(n, "a section of keys"), "write its keys below it, indented, as key: value")
	return nil, false
}

// isPlainKey leaves out ? keys, anchors, tags and <<, which strict reading has no use for.
func isPlainKey(k ast.MapKeyNode) bool {
	switch k.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode, *ast.NullNode:
		return true
	}
	return false
}

// yamlNames returns the key of each field, "" for a field without one.
func yamlNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		if tag := t.Field(i).Tag.Get("yaml"); tag != "-" {
			names[i] = tag
		}
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
