//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// batchRows is how many rows of a result are put into one batch.
const batchRows = 16 << 10

// query is one running query. Its parts are freed in the order in which DuckDB
// made them, backwards.
type query struct {
	*statement
	source   *edited
	conn     mapping.Connection
	prepared mapping.PreparedStatement
	pending  mapping.PendingResult
	result   mapping.Result
	cancel   context.CancelFunc
	unwatch  func()
	mem      *array.RecordBuilder
	columns  []*decoder
	fields   []types.Field
	ended    bool
	into     []types.Field // columns of the table that the rows go to; nil for none

	closing sync.Mutex
	closed  bool
}

// newStatement is a statement that scans can be added to. It lives until its
// query is closed, or discard.
func (e *engine) newStatement(ctx context.Context) (*statement, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	return &statement{ctx: ctx, engine: e, threads: e.threads}, cancel
}

func (s *statement) add(sc *scan) int64 {
	sc.statement = s
	id := s.engine.add(sc)
	s.scans = append(s.scans, id)
	return id
}

func (s *statement) discard() {
	for _, id := range s.scans {
		s.engine.remove(id)
	}
	s.scans = nil
}

// prepare makes DuckDB read and bind the text.
func (s *statement) prepare(source *edited, cancel context.CancelFunc) (*query, error) {
	q := &query{statement: s, source: source, cancel: cancel, unwatch: func() {}}
	var err error
	if q.conn, err = s.engine.connect(); err != nil {
		cancel()
		s.discard()
		return nil, err
	}
	q.unwatch = q.watch(s.ctx)
	if err := q.bind(); err != nil {
		q.close()
		return nil, err
	}
	return q, nil
}

func (q *query) bind() error {
	mapping.DestroyPrepare(&q.prepared)
	if mapping.Prepare(q.conn, q.source.text, &q.prepared) == mapping.StateError {
		return q.explain("preparing query", mapping.PrepareError(q.prepared))
	}
	if mapping.NParams(q.prepared) > 0 {
		return tarnerr.New(tarnerr.Unsupported, "preparing query", "parameters")
	}
	return nil
}

// watch interrupts DuckDB when ctx ends, until the function returned is called.
func (q *query) watch(ctx context.Context) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		q.closing.Lock()
		defer q.closing.Unlock()
		if !q.closed {
			mapping.Interrupt(q.conn)
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// explain turns DuckDB's error into ours: the end of the context and the first
// error of a scan tell more than it does.
func (q *query) explain(op, text string) error {
	if err := q.ctx.Err(); err != nil && q.failure() == nil {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err)
	}
	if err := q.failure(); err != nil {
		return tarnerr.Trace(op, err)
	}
	return parseFailure(text).error(op, q.source)
}

// start runs the prepared text; columns that no Paimon type carries come as text.
func (q *query) start() (*Rows, error) {
	if err := q.describe(); err != nil {
		q.close()
		return nil, err
	}
	const op = "running query"
	if bindings.PendingPreparedStreaming(q.prepared, &q.pending) == mapping.StateError {
		err := q.explain(op, mapping.PendingError(q.pending))
		q.close()
		return nil, err
	}
	// From here on an interrupt stays, so that none is lost between this check and the run.
	if err := q.ctx.Err(); err != nil {
		q.close()
		return nil, tarnerr.Wrap(tarnerr.Unavailable, op, err)
	}
	if mapping.ExecutePending(q.pending, &q.result) == mapping.StateError {
		err := q.explain(op, mapping.ResultError(&q.result))
		q.close()
		return nil, err
	}
	schema, err := types.ArrowSchema(q.fields)
	if err != nil {
		q.close()
		return nil, err
	}
	q.mem = array.NewRecordBuilder(q.engine.mem, schema)
	return &Rows{fields: q.fields, schema: schema, next: q.next, close: q.close}, nil
}

// describe finds the columns' types. It asks for text where there is none, and
// for a table's types where the rows go there.
func (q *query) describe() error {
	columns, text := q.resultColumns()
	switch {
	case len(columns) == 0:
		return tarnerr.New(tarnerr.Invalid, "preparing query", "a statement without columns")
	case q.into != nil && len(q.into) != len(columns):
		return tarnerr.New(tarnerr.Invalid, "preparing query", "as many columns are needed as the table takes",
			"have", len(columns), "need", len(q.into)).WithHint("The table takes %s.", fieldNames(q.into))
	case !text && q.into == nil:
		q.columns = columns
		return nil
	}
	for i, to := range q.into {
		if err := refuseStray(q.fields[i].Type, to); err != nil {
			return err
		}
	}
	titles := q.fields
	names, casts := make([]string, len(columns)), make([]string, len(columns))
	_, _, double := twins(q.into)
	for i, c := range columns {
		names[i] = "c" + itoa(i)
		if q.into != nil && !double {
			names[i] = quoteName(q.into[i].Name) // an error of the cast names it
		}
		switch {
		case q.into != nil:
			casts[i] = "CAST(" + names[i] + " AS " + castName(q.into[i].Type) + ")"
		case c.decode == nil:
			casts[i] = "CAST(" + names[i] + " AS VARCHAR)"
		default:
			casts[i] = names[i]
		}
	}
	q.source = q.source.wrap("SELECT "+strings.Join(casts, ", ")+" FROM (", "\n) AS t("+strings.Join(names, ", ")+")")
	if err := q.bind(); err != nil {
		return err
	}
	if columns, text = q.resultColumns(); text {
		return tarnerr.New(tarnerr.Internal, "preparing query", "no type for a column of text")
	}
	for i := range q.fields {
		q.fields[i].Name = titles[i].Name
		if q.into != nil {
			columns[i].target(q.into[i].Type.WithNull(true))
			q.fields[i] = q.into[i]
			q.fields[i].Type.Nullable = true // the table's writer says what may not be null
		}
	}
	q.columns = columns
	return nil
}

// refuseStray refuses a value of type from with members that the column it goes to
// does not have: DuckDB's cast leaves them out.
func refuseStray(from types.Type, to types.Field) error {
	member := strayMember(from, to.Type)
	if member == "" {
		return nil
	}
	return tarnerr.New(tarnerr.Invalid, "preparing query", "the column has no such member", "column", to.Name, "member", member).
		WithHint("The column's type is %s.", to.Type)
}

// strayMember is a member of from, or inside it, that to does not have; "" for none.
// Members without names go by their place.
func strayMember(from, to types.Type) string {
	have := inside(to)
	if to.Root == types.Variant {
		have = members(to)
	}
	if from.Root != to.Root && !(from.Root == types.Row && to.Root == types.Variant) {
		return ""
	}
	for _, f := range inside(from) {
		if f.Name == "" {
			continue
		}
		i := slices.IndexFunc(have, func(h types.Field) bool { return strings.EqualFold(h.Name, f.Name) })
		if i < 0 {
			return f.Name
		}
		if inner := strayMember(f.Type, have[i].Type); inner != "" {
			return f.Name + "." + inner
		}
	}
	return ""
}

func fieldNames(fields []types.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func (q *query) resultColumns() (columns []*decoder, text bool) {
	n := mapping.PreparedStatementColumnCount(q.prepared)
	q.fields = nil
	for i := range n {
		t := mapping.PreparedStatementColumnLogicalType(q.prepared, i)
		d := newDecoder(t)
		mapping.DestroyLogicalType(&t)
		columns = append(columns, d)
		text = text || d.decode == nil
		q.fields = append(q.fields, types.Field{ID: int(i), Name: mapping.PreparedStatementColumnName(q.prepared, i), Type: d.out})
	}
	last := len(q.fields)
	for i := range q.fields {
		numberMembers(&q.fields[i].Type, &last)
	}
	return columns, text
}

// numberMembers gives the members of ROWs ids that no column has.
func numberMembers(t *types.Type, next *int) {
	for _, inner := range []*types.Type{t.Key, t.Element} {
		if inner != nil {
			numberMembers(inner, next)
		}
	}
	for i := range t.Fields {
		t.Fields[i].ID = *next
		*next++
		numberMembers(&t.Fields[i].Type, next)
	}
}

// next gathers chunks of DuckDB to a batch.
func (q *query) next(ctx context.Context) (arrow.RecordBatch, error) {
	const op = "running query"
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Unavailable, op, err)
	}
	defer q.watch(ctx)()
	rows := 0
	for rows < batchRows && !q.ended {
		chunk := mapping.FetchChunk(q.result)
		if chunk.Ptr == nil {
			if text := mapping.ResultError(&q.result); text != "" || q.failure() != nil || q.ctx.Err() != nil {
				if err := ctx.Err(); err != nil && q.failure() == nil {
					return nil, tarnerr.Wrap(tarnerr.Unavailable, op, err)
				}
				return nil, q.explain(op, text)
			}
			q.ended = true
			break
		}
		n := int(mapping.DataChunkGetSize(chunk))
		err := q.decode(chunk, n)
		mapping.DestroyDataChunk(&chunk)
		if err != nil {
			return nil, err
		}
		rows += n
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return q.mem.NewRecordBatch(), nil
}

func (q *query) decode(chunk mapping.DataChunk, n int) error {
	for i, c := range q.columns {
		vec := mapping.DataChunkGetVector(chunk, mapping.IdxT(i))
		if err := c.append(q.mem.Field(i), vec, 0, n); err != nil {
			return tarnerr.Trace("reading result", err, "column", q.fields[i].Name)
		}
	}
	return nil
}

// close stops the query and frees all of it.
func (q *query) close() error {
	q.cancel()
	q.unwatch()
	if q.mem != nil {
		q.mem.Release()
	}
	// DuckDB's threads may be at work already: it waits for them below.
	mapping.Interrupt(q.conn)
	mapping.DestroyResult(&q.result)
	mapping.DestroyPending(&q.pending)
	mapping.DestroyPrepare(&q.prepared)
	q.closing.Lock()
	q.closed = true
	mapping.Disconnect(&q.conn)
	q.closing.Unlock()
	q.discard()
	return nil
}
