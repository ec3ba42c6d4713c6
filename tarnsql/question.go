//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
)

// question is a query of one VARCHAR with VARCHAR parameters that DuckDB has read, on
// a connection of its own. Not safe for concurrent use.
type question struct {
	query *edited
	conn  mapping.Connection
	stmt  mapping.PreparedStatement
}

func (e *engine) ask(query *edited) (*question, error) {
	conn, err := e.connect()
	if err != nil {
		return nil, err
	}
	q := &question{query: query, conn: conn}
	if mapping.Prepare(q.conn, query.text, &q.stmt) == mapping.StateError {
		defer q.close()
		return nil, parseFailure(mapping.PrepareError(q.stmt)).error("preparing statement", query)
	}
	return q, nil
}

// answer runs the query. An error shows its place in the script that the query is from.
func (q *question) answer(parameters ...string) (string, error) {
	for i, p := range parameters {
		mapping.BindVarchar(q.stmt, mapping.IdxT(i+1), p)
	}
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.ExecutePrepared(q.stmt, &res) == mapping.StateError {
		return "", parseFailure(mapping.ResultError(&res)).error("running statement", q.query)
	}
	chunk := mapping.FetchChunk(res)
	defer mapping.DestroyDataChunk(&chunk)
	if chunk.Ptr == nil || mapping.DataChunkGetSize(chunk) != 1 {
		return "", tarnerr.New(tarnerr.Internal, "running statement", "one row was expected")
	}
	return strings.Clone(textAt(mapping.VectorGetData(mapping.DataChunkGetVector(chunk, 0)), 0)), nil
}

func (q *question) close() {
	mapping.DestroyPrepare(&q.stmt)
	mapping.Disconnect(&q.conn)
}

// text runs a query of one VARCHAR.
func (e *engine) text(ctx context.Context, query *edited) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", tarnerr.Wrap(tarnerr.Unavailable, "running statement", err)
	}
	q, err := e.ask(query)
	if err != nil {
		return "", err
	}
	defer q.close()
	return q.answer()
}

// syntaxTree is the tree of a query as JSON. What asks DuckDB for it is kept from one
// query to the next: to make that anew takes as long as all else until a small query runs.
func (e *engine) syntaxTree(ctx context.Context, sql string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", tarnerr.Wrap(tarnerr.Unavailable, "reading query", err)
	}
	var q *question
	select {
	case q = <-e.parsers:
	default:
		const query = "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR"
		var err error
		if q, err = e.ask(original(query, query, 0)); err != nil {
			return "", err
		}
	}
	text, err := q.answer(sql)
	if err == nil {
		select {
		case e.parsers <- q:
			return text, nil
		default:
		}
	}
	q.close()
	return text, err
}
