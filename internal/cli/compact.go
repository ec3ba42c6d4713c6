package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// compactFlags are what compactions of a table and of a database have in common.
type compactFlags struct {
	full, minor bool
	rate        string
	format      string
	options     []string
	partitions  []string
	where       string
}

func (fl *compactFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&fl.full, "full", false, "one sorted run per bucket (the default)")
	f.BoolVar(&fl.minor, "minor", false, "only what the table's options find worth it, as a writer does")
	f.StringVar(&fl.rate, "rate-limit", "", "bytes written per second at most, as 8 mb")
	f.StringArrayVar(&fl.options, "option", nil, "table option for this compaction, as key=value")
	f.StringVarP(&fl.format, "output", "o", "text", "text, or jsonl: the report as JSON")
	f.StringArrayVar(&fl.partitions, "partition", nil, "partitions to compact, as column=value,…; may be given again (default: all)")
	f.StringVar(&fl.where, "where", "", "partitions to compact, by a condition on their columns")
}

// compactOptions reads the flags.
func (fl *compactFlags) compactOptions() (table.CompactOptions, error) {
	opts := table.CompactOptions{Minor: fl.minor}
	if fl.full && fl.minor {
		return opts, usage(errors.New("--full and --minor exclude each other"))
	}
	err := checkReportFormat(fl.format)
	if err != nil {
		return opts, err
	}
	if opts.BytesPerSecond, err = rateLimit(fl.rate); err != nil {
		return opts, err
	}
	for _, o := range fl.options {
		key, value, ok := strings.Cut(o, "=")
		if !ok || key == "" {
			return opts, usage(fmt.Errorf("--option %q is not key=value", o))
		}
		if opts.Options == nil {
			opts.Options = map[string]string{}
		}
		opts.Options[key] = value
	}
	for _, p := range fl.partitions {
		values, err := partitionValues(p)
		if err != nil {
			return opts, err
		}
		opts.Partitions = append(opts.Partitions, values)
	}
	if fl.where != "" {
		if opts.Where, err = sqltext.ParseWhere(fl.where); err != nil {
			return opts, err
		}
	}
	return opts, nil
}

// rateLimit reads the flag of that name: bytes per second, 0 for as fast as it goes.
func rateLimit(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := option.ParseMemorySize("rate-limit", text)
	if err == nil && n < 1 {
		err = usage(fmt.Errorf("--rate-limit %s lets nothing through", text))
	}
	return n, err
}

func (a *app) tableCompact() *cobra.Command {
	var fl compactFlags
	cmd := &cobra.Command{
		Use:   "compact DB.TABLE",
		Short: "Rewrite files so that reads find less to do",
		Long: `Compact a table: merge the sorted runs of a primary-key table, join the small files of
an append table. No read of rows changes. Writers, other compactions, Flink and Spark
may go on beside it: what does not fit what they did meanwhile is done anew, or left
as they left it.

What is done is committed as it goes. A compaction that was stopped goes on where it
was when the command is run again.`,
		Example: `  tarn table compact shop.orders
  tarn table compact shop.sales --partition day=2024-01-01 --partition day=2024-01-02,region=eu
  tarn table compact shop.sales --where "day < '2024-01-01'" --minor --rate-limit '8 mb'`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			opts, err := fl.compactOptions()
			if err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			return a.compact(cmd.Context(), t, opts, fl.format)
		},
	}
	fl.register(cmd)
	return cmd
}

func (a *app) dbCompact() *cobra.Command {
	var fl compactFlags
	var choice tableChoice
	cmd := &cobra.Command{
		Use:   "compact NAME",
		Short: "Compact all tables of a database",
		Long: `Compact all tables of a database, one after the other, as 'tarn table compact' does.
A table that cannot be compacted does not keep the others from it: the command goes on
and fails at the end.

With --partition or --where, tables that have no such partition columns are left out.`,
		Example: `  tarn db compact shop --minor --rate-limit '8 mb'
  tarn db compact shop --where "day < '2024-01-01'"`,
		Args: args(1, 1, "the name of a database"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			opts, err := fl.compactOptions()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			all, left := 0, 0
			err = a.eachTable(ctx, pos[0], choice, func(t table.Table) error {
				if all++; !hasPartitions(t.Schema(), opts) {
					left++
					return nil
				}
				return a.compact(ctx, t, opts, fl.format)
			})
			if err == nil && left > 0 && left == all {
				err = tarnerr.New(tarnerr.Invalid, "choosing partitions", "no table has such partition columns", "database", pos[0])
			}
			return err
		},
	}
	fl.register(cmd)
	choice.register(cmd)
	return cmd
}

// hasPartitions reports that the columns which opts chooses partitions by are partition
// columns of a table.
func hasPartitions(s *schema.Schema, opts table.CompactOptions) bool {
	for _, p := range opts.Partitions {
		for column := range p {
			if !slices.Contains(s.PartitionKeys, column) {
				return false
			}
		}
	}
	if opts.Where == nil {
		return true
	}
	where, err := expr.Bind(opts.Where, s.Fields)
	return err == nil && !slices.ContainsFunc(where.Columns(), func(c string) bool { return !slices.Contains(s.PartitionKeys, c) })
}

// compact compacts one table and prints what became of it.
func (a *app) compact(ctx context.Context, t table.Table, opts table.CompactOptions, format string) error {
	report, err := a.compactTable(ctx, t, opts)
	if report == nil || err != nil && report.Compacted == 0 && format == "text" {
		return err // there is nothing to tell besides
	}
	return errors.Join(err, printCompact(a.out, t.Name(), report, format))
}

// compactTable compacts one table under a progress bar.
func (a *app) compactTable(ctx context.Context, t table.Table, opts table.CompactOptions) (*table.CompactReport, error) {
	bar := a.workBar(t.Name().String(), true)
	defer bar.end()
	opts.Progress = func(p table.CompactProgress) { bar.show(p.BytesDone, p.Bytes) }
	return t.Compact(ctx, opts)
}

func printCompact(w io.Writer, name table.Identifier, r *table.CompactReport, format string) error {
	if format == "jsonl" {
		return outErr(json.NewEncoder(w).Encode(struct {
			Table string `json:"table"`
			*table.CompactReport
		}{name.String(), r}))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", name, compactText(r))
	return outErr(err)
}

// compactText says what a compaction did.
func compactText(r *table.CompactReport) string {
	var b strings.Builder
	switch {
	case r.Compacted == 0 && r.Lost > 0:
		fmt.Fprintf(&b, "compacted no bucket of %d", r.Buckets)
	case r.Compacted == 0:
		fmt.Fprintf(&b, "nothing to compact in %s", count(int64(r.Buckets), "bucket"))
	default:
		fmt.Fprintf(&b, "compacted %s of %d: %s of %s to %s of %s, as %s in %.3f s", count(int64(r.Compacted), "bucket"), r.Buckets,
			count(int64(r.FilesBefore), "file"), bytesText(r.BytesBefore), count(int64(r.FilesAfter), "file"), bytesText(r.BytesAfter),
			snapshotNames(r.Snapshots), r.Elapsed.Seconds())
	}
	if r.Lost > 0 {
		fmt.Fprintf(&b, "; %s left as others made them meanwhile", count(int64(r.Lost), "bucket"))
	}
	return b.String()
}

// bytesText is a size for people.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
