package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

var durationType = reflect.TypeFor[time.Duration]()

// isScalar says whether one value of text or number fills v.
func isScalar(v reflect.Value) bool {
	if v.CanAddr() {
		if _, ok := v.Addr().Interface().(textValue); ok {
			return true
		}
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// scalar fills v from one value. A value out of the environment is read like one that
// stands in the file, but never shown.
func (d *decoder) scalar(n ast.Node, v reflect.Value, key string) {
	text, quoted, ok := scalarText(n)
	if !ok {
		if _, null := n.(*ast.NullNode); null {
			d.fail(start(n), key, "the value is missing", "write one, or delete the line for the default")
			return
		}
		d.fail(start(n), key, d.isNot(n, "one value"), "write the value behind the key, on its line")
		return
	}
	fromEnv := strings.Contains(text, "${")
	if text, ok = d.expand(start(n), key, text); !ok {
		return
	}
	want := ""
	switch p := v.Addr().Interface().(type) {
	case textValue:
		if !p.parse(text) {
			want = p.want()
		}
	case *time.Duration:
		want = readDuration(text, p)
	case *bool:
		want = readBool(text, p)
	case *int:
		want = readInt(text, p)
	case *float64:
		want = readFloat(text, p)
	case wordList:
		d.word(n, v, key, text, p)
		return
	case *string:
		// 7, true and 1.0 are no text in YAML: a name such as no or 010 would change.
		if _, isText := n.(*ast.StringNode); !isText && !quoted {
			d.fail(start(n), key, d.isNot(n, "text"), fmt.Sprintf("put it in quotes: %q", text))
			return
		}
		*p = text
		return
	default:
		panic(fmt.Sprintf("config: no rule for %s at %s", v.Type(), key)) // a fault of ours that any load shows
	}
	// Quotes say text. A value out of the environment has to be quoted inside { }.
	switch numeric := v.Type() != durationType && (v.Kind() == reflect.Int || v.Kind() == reflect.Float64 || v.Kind() == reflect.Bool); {
	case want != "":
		d.fail(start(n), key, d.isNot(n, want), "")
	case numeric && quoted && !fromEnv:
		d.fail(start(n), key, fmt.Sprintf("%s is quoted, which makes it text", d.shown(n)), "take the quotes away")
	}
}

// word sets a key that takes one word of a list.
func (d *decoder) word(n ast.Node, v reflect.Value, key, text string, list wordList) {
	for _, w := range list.words() {
		if text == w {
			v.SetString(text)
			return
		}
	}
	if what := list.later()[text]; what != "" {
		d.fail(start(n), key, fmt.Sprintf("%s is not in this version: %s", d.shown(n), what), "take one of "+strings.Join(list.words(), ", "))
		return
	}
	d.fail(start(n), key, d.isNot(n, "a word known here"), orNearest(text, list.words(), "take one of "+strings.Join(list.words(), ", ")))
}

// The read functions return "" or what they want in place of the text.

// readDuration takes Go durations alone: a bare 25 would be milliseconds to one reader and
// seconds to another.
func readDuration(text string, out *time.Duration) string {
	v, err := time.ParseDuration(text)
	if err != nil {
		return "a duration with its unit, such as 25ms or 2s"
	}
	*out = v
	return ""
}

// readBool takes YAML 1.2's two words; yes and on are text.
func readBool(text string, out *bool) string {
	if text != "true" && text != "false" {
		return "true or false"
	}
	*out = text == "true"
	return ""
}

func readInt(text string, out *int) string {
	v, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(v) != text { // 010 is eight to YAML and ten to people
		return "a whole number in plain decimal"
	}
	*out = v
	return ""
}

// readFloat takes decimals, with an exponent too; not infinity, hex or 1_000.
func readFloat(text string, out *float64) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(text, "xX_pP") {
		return "a number such as 0.55"
	}
	*out = v
	return ""
}

// scalarText returns a scalar's text as written, without its quotes.
func scalarText(n ast.Node) (text string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, n.Token.Type != token.StringType, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	}
	return "", false, false
}

// shown is a value as a message may show it: its text in the file, masked and cut.
func (d *decoder) shown(n ast.Node) string {
	text, _, ok := scalarText(n)
	if !ok {
		return ""
	}
	const limit = 60
	text = Mask(text)
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}
	return strconv.Quote(text)
}

// isNot says that a value is not what its key takes.
func (d *decoder) isNot(n ast.Node, want string) string {
	if s := d.shown(n); s != "" {
		return fmt.Sprintf("%s is not %s", s, want)
	}
	switch n.(type) {
	case *ast.MappingNode:
		return fmt.Sprintf("a section of keys is not %s", want)
	case *ast.SequenceNode:
		return fmt.Sprintf("a list is not %s", want)
	}
	return fmt.Sprintf("this is not %s", want)
}
