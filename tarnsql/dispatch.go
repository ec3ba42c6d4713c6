//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// dispatch carries out a statement by its first word.
func (db *DB) dispatch(ctx context.Context, source *edited) (*Result, error) {
	tokens := sqltext.Lex(source.text)
	first := ""
	if len(tokens) > 0 {
		first = strings.ToUpper(tokens[0].Text)
	}
	switch first {
	case "SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "EXPLAIN":
		rows, err := db.query(ctx, source, nil)
		if err != nil {
			return nil, err
		}
		if first != "EXPLAIN" {
			first = "SELECT"
		}
		return &Result{Statement: first, Rows: rows}, nil
	}
	at := 0
	if len(tokens) > 0 {
		at = tokens[0].Start
	}
	return nil, withPlace(tarnerr.New(tarnerr.Unsupported, "reading statement", "the statement "+first), source, at)
}
