package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
	"github.com/tarnlake/tarn/types"
)

// sqlRun is one run of `tarn sql`.
type sqlRun struct {
	*app
	commands     []string
	file, format string
	null         string
	timing       bool
	opts         tarnsql.Options
}

func (a *app) sql() *cobra.Command {
	r := &sqlRun{app: a}
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Run SQL over the tables",
		Long: `Run SQL statements, separated by semicolons, from -c, from a file, or from
standard input. They run one after the other; the first error ends the run.
On a terminal, without -c and -f, a prompt opens: \? lists its commands.

SELECT has all that DuckDB has. Tables are named db.table, system tables
db.table$snapshots, an earlier snapshot FROM db.table AT (VERSION => n).
CREATE CATALOG, DATABASE and TABLE, DROP, ALTER TABLE, SHOW, DESCRIBE, USE and
INSERT INTO are written as in Flink or Spark. INSERT returns when its rows are
committed.

Rows go to standard output, all else to standard error.
Formats: table (for people), jsonl, csv, parquet, arrow (an Arrow IPC stream).`,
		Example: `  tarn sql -d shop
  tarn sql -c "SELECT status, count(*) FROM shop.orders GROUP BY ALL"
  tarn sql -d shop -c "SHOW TABLES; DESCRIBE orders"
  tarn sql -f load.sql -o csv`,
		Args: args(0, 0, "no arguments; give SQL with -c"),
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&r.commands, "command", "c", nil, "SQL to run; may be given several times")
	f.StringVarP(&r.file, "file", "f", "", "file with SQL to run (-: standard input)")
	f.StringVarP(&r.opts.Database, "database", "d", "", "database of names without one (default \"default\")")
	f.StringVarP(&r.format, "output", "o", "table", "table, jsonl, csv, parquet or arrow")
	f.StringVar(&r.null, "null", "", "CSV: text of a null cell")
	f.BoolVar(&r.opts.ReadOnly, "read-only", false, "refuse statements that change something")
	f.BoolVar(&r.timing, "timing", false, "tell how long each statement took, and how much of it planning")
	return cmd
}

func (r *sqlRun) run(ctx context.Context) error {
	interactive := len(r.commands) == 0 && r.file == "" && r.watched()
	if err := r.checkFormat(interactive); err != nil {
		return err
	}
	var scripts []string
	if !interactive {
		var err error
		if scripts, err = r.scripts(); err != nil {
			return err
		}
	}
	if err := r.shareMemory(); err != nil {
		return err
	}
	cat, err := r.catalog(ctx)
	if err != nil {
		return err
	}
	r.opts.OpenWarehouse = r.rt.Open
	db, err := tarnsql.Open(ctx, cat, r.opts)
	if err != nil {
		return err
	}
	defer db.Close()
	if interactive {
		return r.shell(ctx, db)
	}
	runner := r.runner(db)
	return runner.run(ctx, scripts...)
}

// checkFormat refuses a format before anything has run.
func (r *sqlRun) checkFormat(interactive bool) error {
	switch r.format {
	case "table", "jsonl", "csv":
		return nil
	case "parquet", "arrow":
		if interactive {
			return shellFormat(r.format)
		}
		if _, ok := terminal(r.out); ok {
			return tarnerr.New(tarnerr.Invalid, "choosing output", "a terminal shows no such files", "output", r.format).
				WithHint("Send standard output to a file.")
		}
		return nil
	}
	return noFormat(r.format)
}

// planned says how much of a query's time planning took.
func planned(res *tarnsql.Result) string {
	if res.Rows == nil || res.Rows.Planning() == 0 {
		return ""
	}
	return fmt.Sprintf(", %.3f s of it planning", res.Rows.Planning().Seconds())
}

// scripts are what -c, -f or standard input give.
func (r *sqlRun) scripts() ([]string, error) {
	if len(r.commands) > 0 {
		if r.file != "" {
			return nil, usage(errors.New("-c and -f cannot go together"))
		}
		return r.commands, nil
	}
	if r.file == "" || r.file == "-" {
		text, err := io.ReadAll(r.in)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Unavailable, "reading standard input", err)
		}
		return []string{string(text)}, nil
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		return nil, fileErr("reading SQL", err)
	}
	return []string{string(text)}, nil
}

// shareMemory gives half of the memory to DuckDB, half to the tables' readers and
// writers.
func (r *sqlRun) shareMemory() error {
	s, err := r.settings()
	if err != nil {
		return err
	}
	cfg, err := config(s)
	if err != nil {
		return err
	}
	r.opts.Memory, r.opts.Threads = tarn.DefaultMemory, cfg.Workers
	if s.SpillDir != "" && s.SpillDir != spillNone {
		if err := os.MkdirAll(s.SpillDir, 0o755); err != nil {
			return tarnerr.Wrap(tarnerr.Denied, "making directory for temporary files", err)
		}
		r.opts.TempDir = s.SpillDir
	}
	if cfg.Memory != 0 {
		r.opts.Memory = cfg.Memory / 2
		r.flags.Memory = strconv.FormatInt(cfg.Memory/2, 10) + "b"
	}
	return nil
}

// distinct gives columns of one name different ones.
func distinct(fields []types.Field) []types.Field {
	taken := map[string]bool{}
	for _, f := range fields {
		taken[f.Name] = true
	}
	seen := map[string]bool{}
	out := make([]types.Field, len(fields))
	for i, f := range fields {
		name := f.Name
		for n := 1; seen[f.Name] && taken[name]; n++ {
			name = f.Name + "_" + strconv.Itoa(n)
		}
		seen[f.Name], taken[name] = true, true
		f.Name = name
		out[i] = f
	}
	return out
}
