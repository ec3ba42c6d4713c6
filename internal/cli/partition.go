package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (a *app) partition() *cobra.Command {
	cmd := group(&cobra.Command{Use: "partition", Short: "Partitions of a table: list, drop"})
	list, drop := a.partitionList(), a.partitionDrop()
	list.ValidArgsFunction, drop.ValidArgsFunction = a.completeTable, a.completeTable
	cmd.AddCommand(list, drop)
	return cmd
}

func (a *app) partitionList() *cobra.Command {
	var format, null string
	cmd := &cobra.Command{
		Use:   "list DB.TABLE [COLUMN=VALUE,…]…",
		Short: "List the partitions of a table",
		Long: `List the partitions that hold rows, all or those with the values given. Rows are
those that lie in files: of a key table, before they are merged.`,
		Example: `  tarn partition list shop.sales
  tarn partition list shop.sales day=2024-01-01 -o jsonl`,
		Args: args(1, -1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			ctx := cmd.Context()
			t, err := a.load(ctx, pos[0])
			if err != nil {
				return err
			}
			p, err := a.partitionsOf(ctx, t)
			if err != nil {
				return err
			}
			scan := table.Scan{Columns: []string{"partition", "record_count", "file_size_in_bytes", "file_count", "last_update_time"}}
			if specs := pos[1:]; len(specs) > 0 {
				wanted, err := p.wanted(specs)
				if err != nil {
					return err
				}
				in := expr.In{Column: "partition"}
				for _, part := range p.parts {
					if slices.ContainsFunc(wanted, part.has) {
						in.Values = append(in.Values, part.name)
					}
				}
				scan.Where = in
			}
			w, err := newOutput(format, a.out, p.system.Schema().Select(scan.Columns), false, null)
			if err != nil {
				return err
			}
			rows, err := p.system.Scan(ctx, scan)
			if err != nil {
				return err
			}
			defer rows.Close()
			return copyRows(ctx, rows, w)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&format, "output", "o", "table", "table, jsonl, csv, parquet or arrow")
	f.StringVar(&null, "null", "", "CSV: text of a null cell")
	return cmd
}

func (a *app) partitionDrop() *cobra.Command {
	var ifExists bool
	var rm removal
	cmd := &cobra.Command{
		Use:   "drop DB.TABLE COLUMN=VALUE,… …",
		Short: "Remove all rows of partitions",
		Long: `Remove all rows of the partitions that have the values given: of one partition where
all partition columns are named, else of several. Commas stand between the columns,
or slashes, as 'tarn partition list' prints them. The default name of partitions,
__DEFAULT_PARTITION__, stands for null. All go in one commit.

Earlier snapshots keep the rows until they expire.`,
		Example: `  tarn partition drop shop.sales day=2024-01-01,region=eu day=2023-12-31
  tarn partition drop shop.sales region=eu --if-exists --yes -o jsonl`,
		Args: args(2, -1, "a table and its partitions"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			ctx := cmd.Context()
			if err := rm.check(); err != nil {
				return err
			}
			t, err := a.load(ctx, pos[0])
			if err != nil {
				return err
			}
			p, err := a.partitionsOf(ctx, t)
			if err != nil {
				return err
			}
			wanted, err := p.wanted(pos[1:])
			if err != nil {
				return err
			}
			specs, found, err := p.present(wanted, ifExists)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%d partitions of %s", len(found), t.Name())
			if len(found) == 1 {
				what = fmt.Sprintf("partition %s of %s", found[0].name, t.Name())
			}
			if len(specs) == 0 {
				return rm.tell(a.out, what, &table.CommitReport{Status: table.Succeeded, Attempts: []table.Attempt{}, Snapshots: []int64{}}, 0)
			}
			if err := a.confirm(ctx, rm.yes, dropQuestion(t, found)); err != nil {
				return err
			}
			begun := time.Now()
			report, err := t.DropPartitions(ctx, specs, table.CommitOptions{})
			return rm.end(a.out, what, report, err, time.Since(begun))
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "pass over partitions that do not exist")
	rm.flags(cmd)
	return cmd
}

// dropQuestion shows what is about to go.
func dropQuestion(t table.Table, found []part) string {
	var q strings.Builder
	rows := int64(0)
	const most = 10
	for i, p := range found {
		if rows += p.rows; i < most {
			fmt.Fprintf(&q, "  %s  %s\n", p.name, count(p.rows, "row"))
		}
	}
	if more := len(found) - most; more > 0 {
		fmt.Fprintf(&q, "  and %d more\n", more)
	}
	fmt.Fprintf(&q, "Drop %s of %s with %s?", count(int64(len(found)), "partition"), t.Name(), count(rows, "row"))
	return q.String()
}

// partitions are those of a table, and the columns they are told by.
type partitions struct {
	table  table.Table
	system table.Table // t$partitions
	fields []types.Field
	reads  []*layout.Partitioner // of one column each
	parts  []part
}

// part is one partition: its name, as lists show it, and its values.
type part struct {
	name   string
	rows   int64
	fields []types.Field
	values []types.Value
}

// spec is what a partition must have: values of some columns.
type spec struct {
	text   string
	given  map[string]string
	values map[string]types.Value
}

// has reports that the partition has the values.
func (p part) has(s spec) bool {
	for i, f := range p.fields {
		want, named := s.values[f.Name]
		switch have := p.values[i]; {
		case !named:
		case want == nil || have == nil:
			if want != nil || have != nil {
				return false
			}
		case types.Compare(f.Type, have, want) != 0:
			return false
		}
	}
	return true
}

func (a *app) partitionsOf(ctx context.Context, t table.Table) (*partitions, error) {
	s, id := t.Schema(), t.Name()
	if id.System != "" || len(s.PartitionKeys) == 0 {
		return nil, tarnerr.New(tarnerr.Invalid, "reading partitions", "the table is not partitioned", "table", id)
	}
	opts, err := option.Parse(s.Options)
	if err != nil {
		return nil, err
	}
	p := &partitions{table: t, fields: s.Select(s.PartitionKeys)}
	for i := range p.fields {
		p.reads = append(p.reads, layout.NewPartitioner(p.fields[i:i+1], opts.PartitionDefault, opts.PartitionLegacyName))
	}
	id.System = "partitions"
	if p.system, err = a.load(ctx, id.String()); err != nil {
		return nil, err
	}
	return p, p.read(ctx)
}

// read finds the partitions that there are.
func (p *partitions) read(ctx context.Context) error {
	rows, err := p.system.Scan(ctx, table.Scan{Columns: []string{"partition", "record_count"}})
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		names, counts := rec.Column(0).(array.StringLike), rec.Column(1).(*array.Int64)
		for i := range int(rec.NumRows()) {
			found := part{name: strings.Clone(names.Value(i)), rows: counts.Value(i), fields: p.fields}
			for k, text := range p.texts(found.name) {
				v, err := p.value(k, text)
				if err != nil {
					return err
				}
				found.values = append(found.values, v)
			}
			p.parts = append(p.parts, found)
		}
	}
}

// texts cuts a partition's name, column=value/column=value, into its values.
func (p *partitions) texts(name string) []string {
	out := make([]string, len(p.fields))
	for i := len(p.fields) - 1; i > 0; i-- {
		mark := "/" + p.fields[i].Name + "="
		if at := strings.LastIndex(name, mark); at >= 0 {
			name, out[i] = name[:at], name[at+len(mark):]
		}
	}
	out[0] = strings.TrimPrefix(name, p.fields[0].Name+"=")
	return out
}

// value reads the text of a partition column.
func (p *partitions) value(column int, text string) (types.Value, error) {
	f := p.fields[column]
	row, err := p.reads[column].Row([]layout.PartitionField{{Name: f.Name, Value: text}})
	if err != nil {
		return nil, err
	}
	return row.Value(0, f.Type)
}

// wanted reads what command lines say of partitions.
func (p *partitions) wanted(texts []string) ([]spec, error) {
	var out []spec
	for _, text := range texts {
		given, err := partitionValues(text)
		if err != nil {
			return nil, err
		}
		s := spec{text: text, given: given, values: map[string]types.Value{}}
		for name, value := range given {
			i := slices.IndexFunc(p.fields, func(f types.Field) bool { return f.Name == name })
			if i < 0 {
				return nil, tarnerr.New(tarnerr.Invalid, "reading partition", "no such partition column", "table", p.table.Name(), "column", name).
					WithHint("The partition columns are %s.", strings.Join(p.table.Schema().PartitionKeys, ", "))
			}
			if s.values[name], err = p.value(i, value); err != nil {
				return nil, tarnerr.Trace("reading partition", err, "column", name)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// present gives the specs that some partition has, and these partitions. A spec
// that none has is an error unless it may be missing.
func (p *partitions) present(wanted []spec, mayMiss bool) (specs []map[string]string, found []part, err error) {
	for _, s := range wanted {
		has := func(p part) bool { return p.has(s) }
		if !slices.ContainsFunc(p.parts, has) {
			if mayMiss {
				continue
			}
			return nil, nil, tarnerr.New(tarnerr.NotFound, "looking up partition", "no such partition", "table", p.table.Name(), "partition", s.text).
				WithHint("See 'tarn partition list %s', or give --if-exists.", p.table.Name())
		}
		specs = append(specs, s.given)
	}
	for _, part := range p.parts {
		if slices.ContainsFunc(wanted, part.has) {
			found = append(found, part)
		}
	}
	return specs, found, nil
}

// partitionColumn is where a column begins in column=value,column=value; slashes
// separate, too. A value may have either, unless a name and = follow.
var partitionColumn = regexp.MustCompile(`(?:^|[,/])([^,/=]+)=`)

// partitionValues reads column=value,column=value.
func partitionValues(text string) (map[string]string, error) {
	at := partitionColumn.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || at[0][0] != 0 || at[0][2] != 0 {
		return nil, usage(fmt.Errorf("partition %q is not column=value,…", text))
	}
	out := map[string]string{}
	for i, m := range at {
		name, end := text[m[2]:m[3]], len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		if _, twice := out[name]; twice {
			return nil, usage(fmt.Errorf("partition %q has column %s twice", text, name))
		}
		out[name] = text[m[1]:end]
	}
	return out, nil
}
