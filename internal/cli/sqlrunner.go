package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

// sqlRunner runs SQL and prints what comes of it: rows to out, all else to errOut.
type sqlRunner struct {
	db           *tarnsql.DB
	out, errOut  io.Writer
	format, null string
	timing       bool
	progress     *sqlProgress // nil: nobody watches
	now          func() time.Time

	// For people at a terminal; the zero values are for programs.
	columns func() int                     // of the terminal that out is; nil when it is none
	layout  string                         // of rows, see gridOutput
	faint   func(string) string            // nil: no colours
	page    func(io.Writer) io.WriteCloser // a program that shows rows; Close waits until it is left
	counts  bool                           // tells how many rows came

	shown int // statements whose rows were printed
}

// run runs scripts up to the first error, and says then how many statements ran.
func (r *sqlRunner) run(ctx context.Context, scripts ...string) error {
	all, ran := 0, 0
	for _, s := range scripts {
		all += len(sqltext.Split(s))
	}
	for _, s := range scripts {
		n, err := r.runOne(ctx, s)
		ran += n
		if err != nil {
			if all > 1 {
				fmt.Fprintf(r.errOut, "%d of %d statements ran\n", ran, all)
			}
			return err
		}
	}
	return nil
}

func (r *sqlRunner) runOne(ctx context.Context, script string) (ran int, err error) {
	r.progress.begin()
	defer r.progress.end()
	start := r.now()
	return r.db.Run(ctx, script, func(res *tarnsql.Result) error {
		rows, err := r.show(ctx, res)
		r.progress.end()
		if err == nil {
			r.tell(res, rows, r.now().Sub(start))
			start = r.now()
			r.progress.begin()
		}
		return err
	})
}

// show prints the rows of a statement and returns how many there were, -1 when
// not all were asked for.
func (r *sqlRunner) show(ctx context.Context, res *tarnsql.Result) (rows int64, err error) {
	if res.Rows == nil {
		return 0, nil
	}
	if r.shown++; r.shown > 1 && (r.format == "parquet" || r.format == "arrow") {
		return 0, tarnerr.New(tarnerr.Invalid, "writing output", "one file holds the rows of one statement", "output", r.format).
			WithHint("Run the statements one by one, each into a file of its own, or choose jsonl or csv.")
	}
	// The first rows take the progress away; until then nothing is printed.
	first := &firstRows{Rows: res.Rows, first: r.progress.end}
	out := r.out
	if r.page != nil {
		paged := r.page(r.out)
		defer func() {
			if closeErr := paged.Close(); err == nil {
				err = closeErr
			}
		}()
		out = paged
	}
	w, err := r.output(out, res)
	if err != nil {
		return 0, err
	}
	err = copyRows(ctx, first, w)
	if errors.Is(err, errPagerLeft) {
		return -1, nil // it has seen enough
	}
	if g, ok := w.(*gridOutput); ok && g.cut && err == nil {
		r.progress.end()
		way := "-o csv"
		if r.counts {
			way = `\x`
		}
		fmt.Fprintf(r.errOut, "Some cells were cut (…); %s shows them in full.\n", way)
	}
	return first.rows, err
}

func (r *sqlRunner) output(w io.Writer, res *tarnsql.Result) (output, error) {
	fields := res.Rows.Fields()
	switch r.format {
	case "jsonl", "parquet":
		fields = distinct(fields)
	case "table":
		if r.columns == nil {
			break
		}
		faint := r.faint
		if faint == nil {
			faint = func(s string) string { return s }
		}
		columns := 0 // a pager shows any width
		if r.page == nil {
			columns = r.columns()
		}
		return &gridOutput{w: w, fields: fields, columns: columns, layout: r.layout, faint: faint}, nil
	}
	return newOutput(r.format, w, fields, false, r.null)
}

// tell says what a statement did.
func (r *sqlRunner) tell(res *tarnsql.Result, rows int64, took time.Duration) {
	said := ""
	switch {
	case res.Report != nil && res.Statement == "INSERT":
		said = fmt.Sprintf("%s: %s, snapshot %v", res.Statement, plural(res.Count, "row"), res.Report.Snapshots)
	case res.Report != nil:
		said = fmt.Sprintf("%s: snapshot %v", res.Statement, res.Report.Snapshots)
	case res.Statement == "INSERT":
		said = "INSERT: no rows"
	case res.Rows == nil:
		said = res.Statement
	case r.counts && rows >= 0:
		said = plural(rows, "row")
	}
	switch {
	case r.timing && r.counts && said != "":
		said += fmt.Sprintf(" (%.3f s)", took.Seconds())
	case r.counts:
	case r.timing:
		if said != "" {
			said += "\n"
		}
		said += fmt.Sprintf("%s took %.3f s%s", res.Statement, took.Seconds(), planned(res))
	}
	if said != "" {
		fmt.Fprintln(r.errOut, said)
	}
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// firstRows are rows that are counted, and whose first batch, or end, is told.
type firstRows struct {
	*tarnsql.Rows
	first func()
	rows  int64
}

func (f *firstRows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := f.Rows.Next(ctx)
	f.first()
	if err == nil {
		f.rows += rec.NumRows()
	}
	return rec, err
}
