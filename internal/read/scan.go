package read

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Config is the table to read from.
type Config struct {
	// Files opens data files; its Table is the schema rows are read under.
	Files *run.Source
	// Layout gives the directories of buckets.
	Layout layout.Table
	// Options are those of the schema, with the options of this read laid over them.
	Options option.Options
	// Budget bounds the memory of splits read side by side; nil is unlimited.
	Budget *budget.Budget
	// Spill takes runs that do not fit what a split may hold of Budget; nil = they are
	// read all at once.
	Spill *spill.Store
}

// Request says what to return of the rows of some splits.
type Request struct {
	Columns []string    // in this order; nil = all
	Where   *expr.Bound // bound to the schema's fields; exact; nil = all
	Limit   int64       // 0 = no limit
	Kind    bool        // first column types.KindColumn with the row kind
	// Workers read splits side by side, and columns where there are fewer splits;
	// 0 and 1 do all on the calling goroutine, split after split.
	Workers int
}

// Open reads splits of a plan. Rows come in the order of the splits, and of the
// files or keys in them, when Workers is at most 1; splits come interleaved
// otherwise. The context ends background work when it ends; Close does too.
//
// Row kinds are those stored, as Java gives them: rows of files that need no
// merge are all +I.
func Open(ctx context.Context, cfg Config, req Request, splits []*split.Split) (batch.Reader, error) {
	s, err := newScan(cfg, req)
	if err != nil {
		return nil, err
	}
	s.decoders = max(req.Workers, 1) / max(len(splits), 1)
	for _, sp := range splits {
		for i, d := range sp.Deletions {
			if d != nil {
				return nil, tarnerr.New(tarnerr.Unsupported, "reading split", "deletion vectors", "file", sp.Files[i].FileName, "vectors", d.Path)
			}
		}
	}
	var r batch.Reader
	if workers := min(req.Workers, len(splits)); workers > 1 {
		r = newParallel(ctx, s, splits, workers)
	} else {
		r = &ordered{scan: s, splits: splits}
	}
	if req.Limit > 0 {
		r = &limited{Reader: r, left: req.Limit}
	}
	return r, nil
}

// scan is what all splits of one read have in common. Immutable.
type scan struct {
	cfg         Config
	mem         memory.Allocator // of the batches returned
	where       *expr.Bound
	kind        bool
	decoders    int // columns of a file decoded side by side
	partitions  *layout.Partitioner
	inPartition *expr.Bound // conjuncts over partition columns alone
	residual    *expr.Bound // the other conjuncts
	onKeys      *expr.Bound // what where says of the key columns

	out *arrow.Schema // of the batches returned
	// raw are the columns read of files that need no merge: the output without the
	// kind, then what the residual needs.
	raw       []types.Field
	rawSchema *arrow.Schema
	rawOut    []int // the output among raw
	// values are the columns of merge rows: the same, then what else the merge engine
	// must see, keys and sequence fields. System columns come behind them.
	values   []types.Field
	keyTypes []types.Type
	merge    merge.Config // but for the system columns and the output
	codec    *spill.Codec // of what is spilled
	rules    *merge.Rules
	lowest   bool // of rows above level 0 the lowest alone counts, see [merge.Config]
}

func newScan(cfg Config, req Request) (*scan, error) {
	table := cfg.Files.Table
	columns, err := project(table, req.Columns)
	if err != nil {
		return nil, err
	}
	partition := table.Select(table.PartitionKeys)
	s := &scan{
		cfg: cfg, mem: batch.Unzeroed(cfg.Files.Mem), where: req.Where, kind: req.Kind,
		partitions: layout.NewPartitioner(partition, cfg.Options.PartitionDefault, cfg.Options.PartitionLegacyName),
	}
	var rest []*expr.Bound
	for _, c := range req.Where.Conjuncts() {
		if all(c.Columns(), table.PartitionKeys) {
			s.inPartition = expr.All(s.inPartition, c)
		} else {
			rest = append(rest, c)
		}
	}
	s.residual = expr.All(rest...)

	s.raw = slices.Clone(columns)
	if s.residual != nil {
		s.raw = addFields(s.raw, table.Select(s.residual.Columns()))
	}
	for i := range columns {
		s.rawOut = append(s.rawOut, i)
	}
	if s.rawSchema, err = types.ArrowSchema(s.raw); err != nil {
		return nil, err
	}
	out := columns
	if req.Kind {
		out = append([]types.Field{kindField()}, columns...)
	}
	if s.out, err = types.ArrowSchema(out); err != nil {
		return nil, err
	}
	if table.HasPrimaryKey() {
		return s, s.prepareMerge(table)
	}
	return s, nil
}

// prepareMerge lays out merge rows and what becomes of them.
func (s *scan) prepareMerge(table *schema.Schema) error {
	o := s.cfg.Options
	var err error
	if s.rules, err = merge.NewRules(table, &s.cfg.Options); err != nil {
		return err
	}
	s.codec = spill.NewCodec(o.Spill.Compression, o.Spill.ZstdLevel)
	s.lowest = o.Changelog.Lookup && s.rules.Engine != merge.FirstRow
	keys := table.Select(table.TrimmedPrimaryKeys())
	sequence := table.Select(o.SequenceFields)
	if len(sequence) != len(o.SequenceFields) {
		return tarnerr.New(tarnerr.Invalid, "reading table", "a sequence field is no column", "sequence.field", o.SequenceFields)
	}
	s.onKeys = s.where.Project(func(c string) bool {
		return slices.ContainsFunc(keys, func(f types.Field) bool { return f.Name == c })
	})
	s.values = addFields(addFields(s.rules.Needs(s.raw), keys), sequence)
	for _, k := range keys {
		s.keyTypes = append(s.keyTypes, k.Type)
	}
	at := func(fields []types.Field) []merge.Column {
		out := make([]merge.Column, len(fields))
		for i, f := range fields {
			j := slices.IndexFunc(s.values, func(v types.Field) bool { return v.ID == f.ID })
			out[i] = merge.Column{Index: j, Type: f.Type}
		}
		return out
	}
	order, err := merge.NewOrder(at(keys))
	if err != nil {
		return err
	}
	merged := s.raw
	if s.kind {
		merged = append([]types.Field{kindField()}, merged...)
	}
	out, err := types.ArrowSchema(merged)
	if err != nil {
		return err
	}
	s.merge = merge.Config{Keys: order, Sequence: at(sequence), Descending: o.SequenceDescending, Schema: out, Mem: s.mem}
	return nil
}

// kindField is the column of row kinds in what a read returns.
func kindField() types.Field {
	f := types.ValueKindField()
	f.Name = types.KindColumn
	return f
}

func project(table *schema.Schema, names []string) ([]types.Field, error) {
	if names == nil {
		return table.Fields, nil
	}
	out := table.Select(names)
	if len(out) == len(names) {
		return out, nil
	}
	for _, n := range names {
		if table.Index(n) < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "projecting columns", "no such column", "column", n).
				WithHint("The table has the columns %v.", columnNames(table.Fields))
		}
	}
	return out, nil
}

func columnNames(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// addFields appends those of more that are not in fields.
func addFields(fields, more []types.Field) []types.Field {
	for _, m := range more {
		if !slices.ContainsFunc(fields, func(f types.Field) bool { return f.ID == m.ID }) {
			fields = append(fields, m)
		}
	}
	return fields
}

func all(columns, among []string) bool {
	for _, c := range columns {
		if !slices.Contains(among, c) {
			return false
		}
	}
	return true
}
