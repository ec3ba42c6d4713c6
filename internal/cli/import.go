package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// importFlags are the flags of table import.
type importFlags struct {
	format      string
	text        rowtext.ReadOptions
	delimiter   string
	commitEvery int64
	user        string
	identifier  int64
	rejectFile  string
	maxRejects  int
	report      bool
}

func (a *app) tableImport() *cobra.Command {
	var fl importFlags
	cmd := &cobra.Command{
		Use:   "import DB.TABLE FILE…|-",
		Short: "Add rows from files or standard input",
		Long: `Add rows from CSV, JSON lines, Parquet or Arrow files, in one commit or in several.

Columns are matched by name (CSV without a header: by position) and take the
types of the table. A column _kind with +I, -U, +U or -D makes rows updates and deletes.

The first row that does not fit ends the import with its line, column, value and
reason, and nothing is committed. With --reject-file such rows are set aside instead,
--max-rejects of them at most.

--commit-every N commits after about N rows: what was committed before a failure stays.
--commit-user with --commit-id makes the import repeatable: the same user and id are
committed once, however often the command runs. With --commit-every the ids count up.`,
		Example: `  tarn table import shop.orders orders.csv --header
  curl … | tarn table import shop.orders - --format jsonl --commit-user feed --commit-id 17`,
		Args: args(2, -1, "a table and at least one file"),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if err := fl.check(); err != nil {
				return err
			}
			t, err := a.load(cmd.Context(), pos[0])
			if err != nil {
				return err
			}
			return a.runImport(cmd.Context(), t, pos[1:], fl)
		},
	}
	f := cmd.Flags()
	f.StringVar(&fl.format, "format", "", "csv, jsonl, parquet or arrow (default: by the file's ending)")
	f.StringVar(&fl.text.Null, "null", "", "CSV: text of a null cell")
	f.StringVar(&fl.delimiter, "delimiter", ",", "CSV: character between cells")
	f.BoolVar(&fl.text.Header, "header", false, "CSV: the first line names the columns")
	f.Int64Var(&fl.commitEvery, "commit-every", 0, "commit after so many rows (0: once, at the end)")
	f.StringVar(&fl.user, "commit-user", "", "commit user, for imports that may be repeated")
	f.Int64Var(&fl.identifier, "commit-id", 0, "commit identifier of the first commit")
	f.StringVar(&fl.rejectFile, "reject-file", "", "file for rows that do not fit")
	f.IntVar(&fl.maxRejects, "max-rejects", 1000, "with --reject-file: give up above so many")
	f.BoolVar(&fl.report, "report", false, "print each commit's report as JSON")
	return cmd
}

func (fl *importFlags) check() error {
	delimiter := []rune(fl.delimiter)
	if fl.delimiter == `\t` {
		delimiter = []rune{'\t'}
	}
	if len(delimiter) != 1 {
		return usage(fmt.Errorf("delimiter %q is not one character", fl.delimiter))
	}
	fl.text.Delimiter = delimiter[0]
	switch {
	case fl.commitEvery < 0:
		return usage(fmt.Errorf("--commit-every %d is negative", fl.commitEvery))
	case (fl.user == "") != (fl.identifier == 0):
		return usage(errors.New("--commit-user and --commit-id go together"))
	case fl.identifier < 0:
		return usage(fmt.Errorf("--commit-id %d is negative", fl.identifier))
	}
	return nil
}

// importRun is one import in progress.
type importRun struct {
	*app
	table    table.Table
	flags    importFlags
	writer   importWriter
	rows     int64 // since the last commit
	rejected int
	rejects  *os.File
}

func (a *app) runImport(ctx context.Context, t table.Table, files []string, fl importFlags) (err error) {
	run := &importRun{app: a, table: t, flags: fl}
	if fl.rejectFile != "" {
		if run.rejects, err = os.Create(fl.rejectFile); err != nil {
			return tarnerr.Wrap(tarnerr.Denied, "opening reject file", err)
		}
		defer func() {
			if closeErr := run.rejects.Close(); err == nil && closeErr != nil {
				err = tarnerr.Wrap(tarnerr.Unavailable, "writing reject file", closeErr)
			}
		}()
		run.flags.text.Reject = run.reject
	}
	if run.writer, err = newImportWriter(ctx, t, fl); err != nil {
		return err
	}
	defer func() {
		if closeErr := run.writer.Close(); err == nil {
			err = closeErr
		}
	}()
	for _, f := range files {
		if err := run.file(ctx, f); err != nil {
			return tarnerr.Trace("importing", err, "file", f)
		}
	}
	if run.rows > 0 || run.writer.first() {
		if err := run.commit(ctx); err != nil {
			return err
		}
	}
	if run.rejected > 0 {
		fmt.Fprintf(a.errOut, "%d rows did not fit, see %s\n", run.rejected, fl.rejectFile)
	}
	return nil
}

func (r *importRun) reject(e *rowtext.RowError, text string) error {
	if r.rejected++; r.rejected > r.flags.maxRejects {
		return tarnerr.Wrap(tarnerr.Invalid, "reading rows", e).
			WithHint("More than %d rows do not fit (--max-rejects).", r.flags.maxRejects)
	}
	fmt.Fprintf(r.errOut, "rejected: %v\n", e)
	if _, err := fmt.Fprintln(r.rejects, text); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, "writing reject file", err)
	}
	return nil
}

func (r *importRun) file(ctx context.Context, name string) error {
	src, err := r.open(ctx, name)
	if err != nil {
		return err
	}
	defer src.Close()
	for {
		rec, err := src.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.writer.Write(ctx, rec); err != nil {
			return err
		}
		r.rows += rec.NumRows()
		if r.flags.commitEvery > 0 && r.rows >= r.flags.commitEvery {
			if err := r.commit(ctx); err != nil {
				return err
			}
		}
	}
}

func (r *importRun) commit(ctx context.Context) error {
	report, err := r.writer.commit(ctx)
	rows := r.rows
	r.rows = 0
	if report != nil && r.flags.report {
		enc := json.NewEncoder(r.out)
		if encErr := enc.Encode(report); encErr != nil && err == nil {
			return outErr(encErr)
		}
	}
	if err != nil {
		return err
	}
	if r.flags.report {
		return nil
	}
	switch {
	case report.Already:
		fmt.Fprintf(r.out, "already committed: user %s, identifier %d\n", report.User, report.Identifier)
	case len(report.Snapshots) == 0:
		fmt.Fprintln(r.out, "nothing to commit")
	default:
		fmt.Fprintf(r.out, "committed %d rows as snapshot %s in %.3f s\n", rows,
			strings.Trim(fmt.Sprint(report.Snapshots), "[]"), report.Elapsed.Seconds())
	}
	return nil
}
