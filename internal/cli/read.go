package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (a *app) tableRead() *cobra.Command {
	var scan table.Scan
	var where, format, to, null string
	var options []string
	cmd := &cobra.Command{
		Use:   "read DB.TABLE",
		Short: "Print a table's rows",
		Long: `Print the rows of a table's latest snapshot, or of the one named by --snapshot.

System tables are read the same way: 'DB.TABLE$snapshots', '$files', '$schemas',
'$options' (quote the $ for the shell).

--where takes comparisons, IN, BETWEEN, LIKE 'prefix%' and IS NULL with AND, OR and NOT.
--option lays options over the table's: incremental-between=4,6 gives what changed
behind snapshot 4 up to 6, or between two tags.
Formats: table (for people), jsonl, csv, parquet, arrow (an Arrow IPC stream).`,
		Example: `  tarn table read shop.orders --where "status = 'PAID' AND version > 1" --columns id,status -o csv
  tarn table read 'shop.orders$snapshots'`,
		Args: args(1, 1, "a table"),
		RunE: func(cmd *cobra.Command, pos []string) (err error) {
			if cmd.Flags().Changed("columns") && len(scan.Columns) == 0 {
				return usage(errors.New("--columns names no column"))
			}
			if cmd.Flags().Changed("snapshot") && scan.SnapshotID < 1 {
				return usage(fmt.Errorf("--snapshot %d: ids begin at 1", scan.SnapshotID))
			}
			if scan.Limit < 0 {
				return usage(fmt.Errorf("--limit %d is negative", scan.Limit))
			}
			if where != "" {
				if scan.Where, err = sqltext.ParseWhere(where); err != nil {
					return err
				}
			}
			if scan.Options, err = keyValues(options); err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			s, err := t.SchemaAt(cmd.Context(), scan.SnapshotID)
			if err != nil {
				return err
			}
			fields, err := outputFields(t.Name(), s, scan.Columns)
			if err != nil {
				return err
			}
			// The scan is open before a file is: a mistake in it destroys nothing.
			rows, err := t.Scan(cmd.Context(), scan)
			if err != nil {
				return err
			}
			defer func() {
				if closeErr := rows.Close(); err == nil {
					err = closeErr
				}
			}()
			out := &lateFile{stdout: a.out, name: to}
			defer func() {
				if closeErr := out.Close(); err == nil {
					err = closeErr
				}
			}()
			w, err := newOutput(format, out, fields, scan.Kind, null)
			if err != nil {
				return err
			}
			return copyRows(cmd.Context(), rows, w)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&scan.Columns, "columns", nil, "columns to print, in this order")
	f.StringVar(&where, "where", "", "rows to print")
	f.StringArrayVar(&options, "option", nil, "option of this read as key=value, repeatable")
	f.Int64Var(&scan.Limit, "limit", 0, "at most so many rows (0: all)")
	f.Int64Var(&scan.SnapshotID, "snapshot", 0, "read this snapshot instead of the latest")
	f.BoolVar(&scan.Kind, "kind", false, "print the row kind, too")
	f.StringVarP(&format, "output", "o", "table", "table, jsonl, csv, parquet or arrow")
	f.StringVar(&to, "to", "", "file to write instead of standard output")
	f.StringVar(&null, "null", "", "CSV: text of a null cell")
	return cmd
}

// outputFields are the columns that a read of a table with schema s prints.
func outputFields(name table.Identifier, s *schema.Schema, columns []string) ([]types.Field, error) {
	if columns == nil {
		return s.Fields, nil
	}
	out := s.Select(columns)
	if len(out) == len(columns) {
		return out, nil
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	for _, c := range columns {
		if s.Index(c) < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "reading table", "no such column", "table", name, "column", c).
				WithHint("The columns are %s.", strings.Join(names, ", "))
		}
	}
	return out, nil
}

func copyRows(ctx context.Context, rows table.Reader, w output) error {
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if err := w.Write(rec); err != nil {
			return err
		}
	}
}

// lateFile is a file that is created when the first byte is written, or on Close,
// or standard output when it has no name.
type lateFile struct {
	stdout io.Writer
	name   string
	f      *os.File
}

func (l *lateFile) open() error {
	if l.f != nil {
		return nil
	}
	f, err := os.Create(l.name)
	if err != nil {
		return fileErr("writing output", err)
	}
	l.f = f
	return nil
}

func (l *lateFile) Write(p []byte) (int, error) {
	to := l.stdout
	if l.name != "" {
		if err := l.open(); err != nil {
			return 0, err
		}
		to = l.f
	}
	n, err := to.Write(p)
	if err != nil {
		err = fileErr("writing output", err)
	}
	return n, err
}

func (l *lateFile) Close() error {
	if l.f == nil {
		return nil
	}
	if err := l.f.Close(); err != nil {
		return fileErr("writing output", err)
	}
	return nil
}
