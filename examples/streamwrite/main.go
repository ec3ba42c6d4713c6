package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

const (
	events    = 100 // in the source
	perCommit = 10
	user      = "copier" // the name under which a restarted job finds its commits
)

var errPowerCut = errors.New("the power went out")

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "streamwrite:", err)
		os.Exit(1)
	}
}

func start() error {
	if len(os.Args) > 1 {
		return run(context.Background(), os.Args[1], os.Stdout)
	}
	dir, err := os.MkdirTemp("", "tarn-streamwrite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return run(context.Background(), dir, os.Stdout)
}

func run(ctx context.Context, dir string, out io.Writer) error {
	cat, err := tarn.Open(ctx, dir, tarn.Config{})
	if err != nil {
		return err
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "logs", true); err != nil {
		return err
	}
	id := table.Identifier{Database: "logs", Table: "events"}
	err = cat.CreateTable(ctx, id, schema.Spec{
		Fields: []types.Field{
			{Name: "offset", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "text", Type: types.MustParse("STRING")},
		},
	}, true)
	if err != nil {
		return err
	}
	t, err := cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	err = copyEvents(ctx, t, 45, out)
	if errors.Is(err, errPowerCut) {
		fmt.Fprintln(out, "stopped:", err)
		err = copyEvents(ctx, t, events, out)
	}
	if err != nil {
		return err
	}
	n, sum, err := count(ctx, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the table holds %d events, their offsets add up to %d\n", n, sum)
	return nil
}

// copyEvents copies what is not yet in the table. The identifier of a commit is
// the number of the batch of events in it, so the last identifier committed
// tells where to go on. After diesAt events it gives up without a word.
func copyEvents(ctx context.Context, t table.Table, diesAt int64, out io.Writer) error {
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: user})
	if err != nil {
		return err
	}
	defer w.Close()
	next := int64(1)
	last, ok, err := w.LastCommitted(ctx)
	if err != nil {
		return err
	}
	if ok {
		next = last + 1
		fmt.Fprintf(out, "%s goes on after commit %d\n", user, last)
	}
	for commit := next; commit <= events/perCommit; commit++ {
		from := (commit - 1) * perCommit
		rec := source(t.ArrowSchema(), from, from+perCommit)
		err := w.Write(ctx, rec)
		rec.Release()
		if err != nil {
			return err
		}
		if from+perCommit > diesAt {
			return errPowerCut
		}
		if _, err := w.Commit(ctx, commit); err != nil {
			return err
		}
	}
	return nil
}

// source returns the events from (inclusive) to (exclusive).
func source(s *arrow.Schema, from, to int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := from; i < to; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("event %d", i))
	}
	return b.NewRecordBatch()
}

func count(ctx context.Context, t table.Table) (n, sum int64, err error) {
	r, err := t.Scan(ctx, table.Scan{Columns: []string{"offset"}})
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return n, sum, nil
		}
		if err != nil {
			return 0, 0, err
		}
		n += rec.NumRows()
		for _, v := range rec.Column(0).(*array.Int64).Int64Values() {
			sum += v
		}
	}
}
