//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// node is a node of DuckDB's syntax tree.
type node map[string]any

// serialize asks DuckDB for the syntax tree of a query.
func (e *engine) serialize(ctx context.Context, source *edited) (node, error) {
	const op = "reading query"
	text, err := e.syntaxTree(ctx, source.text)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Position   string `json:"position"`
		Statements []node `json:"statements"`
	}
	dec := json.NewDecoder(strings.NewReader(quoteInfinity(text)))
	dec.UseNumber()
	if err := dec.Decode(&reply); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, op, err)
	}
	if strings.HasPrefix(reply.Message, "Only SELECT statements") {
		tokens := sqltext.Lex(source.text)
		if pivot := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Is("PIVOT") }); pivot >= 0 {
			return nil, withPlace(tarnerr.New(tarnerr.Unsupported, op, "PIVOT of values that are not named").
				WithHint("Name them: PIVOT t ON column IN ('a', 'b')."), source, tokens[pivot].Start)
		}
		return nil, withPlace(tarnerr.New(tarnerr.Unsupported, op, "a statement that is no query in this place"), source, 0)
	}
	if reply.Error {
		kind := "Parser"
		if reply.Type != "parser" && reply.Type != "syntax" {
			kind = "Not implemented"
		}
		return nil, failure{Type: kind, Message: reply.Message, Position: reply.Position}.error(op, source)
	}
	if len(reply.Statements) != 1 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "one statement was expected", "statements", len(reply.Statements))
	}
	return reply.Statements[0], nil
}

var textOrInfinity = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?(?i:infinity|inf|nan)`)

// quoteInfinity makes texts of the numbers that DuckDB writes and JSON does not have.
func quoteInfinity(text string) string {
	return textOrInfinity.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return `"` + found + `"`
	})
}

func asNode(v any) node {
	n, _ := v.(map[string]any)
	return n
}

func (n node) child(key string) node { return asNode(n[key]) }

func (n node) list(key string) []any {
	l, _ := n[key].([]any)
	return l
}

func (n node) text(key string) string {
	s, _ := n[key].(string)
	return s
}

// texts is a list of strings.
func (n node) texts(key string) []string {
	var out []string
	for _, v := range n.list(key) {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// location is the byte of the text where the node was read, -1 when unknown.
func (n node) location() int {
	v, _ := n["query_location"].(json.Number)
	at, err := v.Int64()
	if err != nil || at < 0 || at > math.MaxInt32 {
		return -1
	}
	return int(at)
}
