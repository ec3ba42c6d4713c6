package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/batch"
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
	overwrite   string // how, "" for not at all
	partition   string
	replaced    *table.Overwrite
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
--max-rejects of them at most; the file is replaced when the first one comes.

--commit-every N commits after every N rows: what was committed before a failure stays.
--commit-user with --commit-id makes the import repeatable: the same user and id are
committed once, however often the command runs. With --commit-every the ids count up.

--overwrite puts the rows in the place of others, in one commit: with the table's
option dynamic-partition-overwrite (true by default, as in Flink) of all rows in the
partitions that rows go to, without it of the partition that --partition names, or of
all rows. --overwrite=dynamic and --overwrite=static say which. Rows outside of the
partition named are refused.`,
		Example: `  tarn table import shop.orders orders.csv --header
  curl … | tarn table import shop.orders - --format jsonl --commit-user feed --commit-id 17
  tarn table import shop.sales monday.parquet --overwrite=static --partition day=2024-01-01`,
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
	f.StringVar(&fl.text.Null, "null", "", "CSV: text of a null cell; in quotes it is that text itself")
	f.StringVar(&fl.delimiter, "delimiter", ",", "CSV: character between cells, \\t for a tab")
	f.BoolVar(&fl.text.Header, "header", false, "CSV: the first line names the columns")
	f.Int64Var(&fl.commitEvery, "commit-every", 0, "commit after so many rows (0: once, at the end)")
	f.StringVar(&fl.user, "commit-user", "", "commit user, for imports that may be repeated")
	f.Int64Var(&fl.identifier, "commit-id", 0, "commit identifier of the first commit")
	f.StringVar(&fl.rejectFile, "reject-file", "", "file for rows that do not fit")
	f.IntVar(&fl.maxRejects, "max-rejects", 1000, "with --reject-file: give up above so many")
	f.BoolVar(&fl.report, "report", false, "print each commit's report as JSON")
	f.StringVar(&fl.overwrite, "overwrite", "", "replace rows: static, dynamic, or as the table says")
	f.Lookup("overwrite").NoOptDefVal = "table"
	f.StringVar(&fl.partition, "partition", "", "with --overwrite: the partition to replace, as column=value,…")
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
	case fl.identifier < 0 || fl.identifier >= table.BatchIdentifier:
		return usage(fmt.Errorf("--commit-id %d is not between 1 and %d", fl.identifier, int64(table.BatchIdentifier-1)))
	}
	return fl.checkOverwrite()
}

var overwriteModes = map[string]table.OverwriteMode{
	"table": table.OverwriteByOption, "static": table.OverwriteStatic, "dynamic": table.OverwriteDynamic,
}

func (fl *importFlags) checkOverwrite() error {
	if fl.overwrite == "" {
		if fl.partition != "" {
			return usage(errors.New("--partition goes with --overwrite"))
		}
		return nil
	}
	mode, ok := overwriteModes[fl.overwrite]
	switch {
	case !ok:
		return usage(fmt.Errorf("--overwrite=%s is neither static nor dynamic", fl.overwrite))
	case fl.commitEvery > 0 || fl.user != "":
		return usage(errors.New("--overwrite is one commit: it goes neither with --commit-every nor with --commit-user"))
	}
	fl.replaced = &table.Overwrite{Mode: mode}
	if fl.partition == "" {
		return nil
	}
	var err error
	fl.replaced.Partition, err = partitionValues(fl.partition)
	return err
}

// importRun is one import in progress.
type importRun struct {
	*app
	table   table.Table
	flags   importFlags
	writer  importWriter
	rejects *rejects // nil: the first bad row ends the import
	rows    int64    // since the last commit
	commits int
	since   time.Time                // of the last commit, or the start
	bar     *progressbar.ProgressBar // of the file at hand, or nil
}

func (a *app) runImport(ctx context.Context, t table.Table, files []string, fl importFlags) (err error) {
	run := &importRun{app: a, table: t, flags: fl, since: time.Now()}
	if fl.rejectFile != "" {
		run.rejects = &rejects{name: fl.rejectFile, most: fl.maxRejects, told: run.beside(a.errOut)}
		run.flags.text.Reject = run.rejects.add
		defer func() {
			if closeErr := run.rejects.Close(); err == nil {
				err = closeErr
			}
		}()
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
			return run.ended(ctx, tarnerr.Trace("importing", err, "file", f))
		}
	}
	if run.rows > 0 || run.commits == 0 {
		if err := run.commit(ctx); err != nil {
			return run.ended(ctx, err)
		}
	}
	return nil
}

// ended says in an error what stays of an import that broke off, and what to do
// about a row that does not fit.
func (r *importRun) ended(ctx context.Context, err error) error {
	var e *tarnerr.Error
	if !errors.As(err, &e) || e.Hint != "" || tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
		return err
	}
	stays := "Nothing was committed."
	if r.commits > 0 {
		stays = fmt.Sprintf("What %s made before stays.", count(int64(r.commits), "commit"))
	}
	var text *rowtext.RowError
	if _, refused := tarnerr.Attribute(err, "row"); r.rejects == nil && (refused || errors.As(err, &text)) && ctx.Err() == nil {
		stays += " Mend the row, or set such rows aside with --reject-file."
	}
	return e.WithHint("%s", stays)
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
		if err := r.take(ctx, src, rec); err != nil {
			return err
		}
	}
}

// take writes the rows of a batch, committing wherever --commit-every says.
func (r *importRun) take(ctx context.Context, src batch.Reader, rec arrow.RecordBatch) error {
	for at := int64(0); at < rec.NumRows(); {
		end := rec.NumRows()
		if every := r.flags.commitEvery; every > 0 {
			end = min(end, at+every-r.rows)
		}
		if err := r.write(ctx, src, rec, at, end); err != nil {
			return err
		}
		at = end
		if r.flags.commitEvery > 0 && r.rows >= r.flags.commitEvery {
			if err := r.commit(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes rows from at to end of a batch. A row that the table refuses is
// set aside where that is wanted: a refused batch has left no trace.
func (r *importRun) write(ctx context.Context, src batch.Reader, rec arrow.RecordBatch, at, end int64) error {
	for at < end {
		err := r.writeSlice(ctx, rec, at, end)
		if err == nil {
			r.rows += end - at
			return nil
		}
		bad, ok := badRow(err, end-at)
		if !ok {
			return err
		}
		place := fmt.Sprint("row ", at+bad+1, " of the batch")
		if lines, ok := src.(interface{ Line(i int) int }); ok {
			place = fmt.Sprint("line ", lines.Line(int(at+bad)))
		}
		if r.rejects == nil {
			return tarnerr.Trace("reading "+place, err)
		}
		if bad > 0 {
			if err := r.writeSlice(ctx, rec, at, at+bad); err != nil {
				return err
			}
			r.rows += bad
		}
		one := rec.NewSlice(at+bad, at+bad+1)
		err = r.rejects.addRow(r.table, one, place, err)
		one.Release()
		if err != nil {
			return err
		}
		at += bad + 1
	}
	return nil
}

func (r *importRun) writeSlice(ctx context.Context, rec arrow.RecordBatch, at, end int64) error {
	part := rec.NewSlice(at, end)
	defer part.Release()
	return r.writer.Write(ctx, part)
}

// badRow is the row of a batch of n that an error complains of.
func badRow(err error, n int64) (int64, bool) {
	if tarnerr.KindOf(err) != tarnerr.Invalid {
		return 0, false
	}
	v, ok := tarnerr.Attribute(err, "row")
	i, isInt := v.(int)
	return int64(i), ok && isInt && int64(i) < n
}

func (r *importRun) commit(ctx context.Context) error {
	report, err := r.writer.commit(ctx)
	rows, took := r.rows, time.Since(r.since)
	r.rows, r.since = 0, time.Now()
	out := r.beside(r.out)
	if report != nil && r.flags.report {
		if encErr := json.NewEncoder(out).Encode(report); encErr != nil && err == nil {
			return outErr(encErr)
		}
	}
	if err != nil {
		return err
	}
	r.commits++
	if r.flags.report {
		return nil
	}
	switch {
	case report.Already:
		fmt.Fprintf(out, "already committed: user %s, identifier %d\n", report.User, report.Identifier)
	case len(report.Snapshots) == 0:
		fmt.Fprintln(out, "nothing to commit")
	default:
		replaced := ""
		if r.flags.replaced != nil {
			replaced = " in place of " + count(int64(report.FilesGone), "file")
		}
		fmt.Fprintf(out, "committed %s%s as %s in %.3f s\n", count(rows, "row"), replaced,
			snapshotNames(report.Snapshots), took.Seconds())
	}
	return nil
}
