package config

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what the parser is given. It keeps a path per node, recurses per level and
// per sibling key, and is quadratic in both: 250 KB of quotes cost it seconds.
const (
	maxTokens      = 20_000
	maxKeyBytes    = 128
	maxScalarBytes = 4096
	maxDepth       = 24 // of blocks; a config of ours has 4
	maxFlowDepth   = 8
	maxEntriesLine = 8 // "- - - x" opens a level each
)

// syntaxTree returns the one document of text, or nil after telling why there is none.
func (d *decoder) syntaxTree(text []byte) (root ast.Node) {
	text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	if !d.checkText(text) {
		return nil
	}
	// The parser is third-party code reading what anybody may have written: a panic in
	// it is a file we cannot read, and no reason to die.
	defer func() {
		if p := recover(); p != nil {
			d.fail(mark{}, "", "this cannot be read as YAML", "write it in plain block style, one key a line")
			root = nil
		}
	}()
	// The lexer is linear and safe to run on anything; the parser is not.
	tokens := lexer.Tokenize(string(text))
	if !d.checkTokens(tokens) {
		return nil
	}
	// Duplicate keys are let through here: the decoder finds all of them, the parser one.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.failSyntax(err)
		return nil
	}
	return d.oneDocument(file)
}

// failSyntax tells the parser's first complaint without the excerpt that its Error
// method adds: the excerpt would show passwords.
func (d *decoder) failSyntax(err error) {
	var at mark
	text := "this is not YAML"
	if e, ok := err.(interface {
		GetMessage() string
		GetToken() *token.Token
	}); ok {
		text, at = e.GetMessage(), markOf(e.GetToken())
	}
	cure := "mend the syntax of this line or of one beside it"
	if at.line > 0 && d.lineHas(at.line, "${") {
		cure = `put the value in double quotes: between { } or [ ], YAML takes the braces of ${NAME} for its own`
	}
	d.fail(at, "", text, cure)
}

// checkTokens applies the bounds above, so that the parser's cost is bounded too.
func (d *decoder) checkTokens(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		d.fail(markOf(tokens[maxTokens]), "", fmt.Sprintf("more than %d words and signs", maxTokens), "split what is this large, or delete what is not needed")
		return false
	}
	var columns []int // of the blocks that are open
	line, flow, entries := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position == nil || tk.Type == token.CommentType {
			continue
		}
		if tk.Position.Line != line {
			line, entries = tk.Position.Line, 0
			for len(columns) > 0 && columns[len(columns)-1] >= tk.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, tk.Position.Column)
		}
		limit := maxScalarBytes
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if tk.NextType() == token.MappingValueType {
			limit = maxKeyBytes
		}
		switch {
		case len(columns) > maxDepth || flow > maxFlowDepth || entries > maxEntriesLine:
			d.fail(markOf(tk), "", "nested too deeply", "no key of ours lies this deep: flatten it")
			return false
		case len(tk.Value) > limit:
			d.fail(markOf(tk), "", fmt.Sprintf("a text of more than %d bytes", limit), "shorten it")
			return false
		}
	}
	return true
}

// oneDocument returns the only document's body; an empty file has a nil body, which
// is told.
func (d *decoder) oneDocument(file *ast.File) ast.Node {
	var body ast.Node
	for _, doc := range file.Docs {
		switch b := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.DirectiveNode:
			d.fail(markOf(b.GetToken()), "", "a YAML directive", "delete the line that begins with %")
		default:
			if body != nil {
				d.fail(start(b), "", "a second YAML document", "keep one document in the file: delete from the line --- on")
				return nil
			}
			body = b
		}
	}
	if body == nil {
		d.fail(mark{1, 1}, "", "the file is empty", "start from docs/config.example.yaml or docs/manifest.example.yaml")
	}
	return body
}

// mark is a place in the file, from 1; the zero mark is the file as a whole.
type mark struct{ line, col int }

func markOf(tk *token.Token) mark {
	if tk == nil || tk.Position == nil {
		return mark{}
	}
	return mark{tk.Position.Line, tk.Position.Column}
}

// start returns where a node's text begins. A block mapping's own token is the colon of
// its first pair.
func start(n ast.Node) mark {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return markOf(m.Values[0].Key.GetToken())
	}
	if n == nil {
		return mark{}
	}
	return markOf(n.GetToken())
}
