package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// Columns of the table, in this order; a row is the state of a flight after an event.
var flightColumns = []types.Field{
	{Name: "day", Type: types.Type{Root: types.Date}},
	{Name: "carrier", Type: text(false)},
	{Name: "flight", Type: types.Type{Root: types.Int}},
	{Name: "origin", Type: text(false)},
	{Name: "dest", Type: text(true)},
	{Name: "status", Type: text(true)},
	{Name: "version", Type: integer()},
	{Name: "sched_dep_time", Type: integer()},
	{Name: "dep_delay", Type: integer()},
	{Name: "arr_delay", Type: integer()},
	{Name: "air_time", Type: integer()},
	{Name: "distance", Type: integer()},
}

func text(nullable bool) types.Type {
	return types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: nullable}
}

func integer() types.Type { return types.Type{Root: types.Int, Nullable: true} }

// figures are what source and table must agree on.
type figures struct {
	Flights, Cancelled                    int
	DepDelay, ArrDelay, AirTime, Distance int64
}

const commits = 20

// month replays a month of flights as a shuffled stream of updates and checks
// the table against the source.
func month(ctx context.Context, cat catalog.Catalog, path string) error {
	events, want, err := readFlights(ctx, path)
	if err != nil {
		return err
	}
	// The seed only makes every run shuffle alike.
	rand.New(rand.NewPCG(2013, 1)).Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	fmt.Printf("\n2. %d real flights of January 2013 as %d events, shuffled, in %d commits\n", want.Flights, len(events), commits)
	fmt.Println("   Each event is the state of its flight then: scheduled (version 1), departed or cancelled (2), arrived (3).")

	t, err := createFlights(ctx, cat)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := upsert(ctx, t, events); err != nil {
		return err
	}
	elapsed := time.Since(start)
	fmt.Printf("   upserted %d rows in %.2f s: %.0f rows/s, commits included\n", len(events), elapsed.Seconds(), float64(len(events))/elapsed.Seconds())

	start = time.Now()
	got, err := measure(ctx, t)
	if err != nil {
		return err
	}
	elapsed = time.Since(start)
	fmt.Printf("   read back %d flights merged from them in %.2f s: %.0f events/s\n", got.Flights, elapsed.Seconds(), float64(len(events))/elapsed.Seconds())
	fmt.Printf("   %-8s %+v\n   %-8s %+v\n", "source", want, "table", got)
	if got != want {
		return errors.New("the table does not agree with the source")
	}
	fmt.Printf("   equal. Peak memory of this process: %s\n", peakMemory())
	return nil
}

func createFlights(ctx context.Context, cat catalog.Catalog) (table.Table, error) {
	if err := cat.CreateDatabase(ctx, "air", true); err != nil {
		return nil, err
	}
	id := table.Identifier{Database: "air", Table: "flights"}
	spec := schema.Spec{
		Fields:        flightColumns,
		PrimaryKeys:   []string{"day", "carrier", "flight", "origin"},
		PartitionKeys: []string{"day"},
		Options:       map[string]string{"bucket": "1", "sequence.field": "version"},
	}
	if err := cat.CreateTable(ctx, id, spec, false); err != nil {
		return nil, err
	}
	return cat.LoadTable(ctx, id)
}

// upsert writes the events in commits equal parts, as a stream that could be
// restarted: the identifier of each commit says how far it got.
func upsert(ctx context.Context, t table.Table, events [][]any) (err error) {
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: "demo"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for c := range commits {
		part := events[len(events)*c/commits : len(events)*(c+1)/commits]
		rows, err := buildRows(t.ArrowSchema(), part)
		if err != nil {
			return err
		}
		err = w.Write(ctx, rows)
		rows.Release()
		if err != nil {
			return err
		}
		if _, err := w.Commit(ctx, int64(c+1)); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, t table.Table) (figures, error) {
	var f figures
	scan := table.Scan{Columns: []string{"status", "dep_delay", "arr_delay", "air_time", "distance"}}
	err := each(ctx, t, scan, func(rec arrow.RecordBatch) {
		f.Flights += int(rec.NumRows())
		status := rec.Column(0).(*array.String)
		for i := range int(rec.NumRows()) {
			if status.Value(i) == "CANCELLED" {
				f.Cancelled++
			}
		}
		for c, sum := range []*int64{&f.DepDelay, &f.ArrDelay, &f.AirTime, &f.Distance} {
			*sum += total(rec.Column(c + 1))
		}
	})
	return f, err
}

func total(col arrow.Array) int64 {
	var n int64
	ints := col.(*array.Int32)
	for i, v := range ints.Int32Values() {
		if ints.IsValid(i) {
			n += int64(v)
		}
	}
	return n
}

// readFlights turns each flight of the file into its events, and sums the file
// up independently of them.
func readFlights(ctx context.Context, path string) ([][]any, figures, error) {
	var want figures
	f, err := os.Open(path)
	if err != nil {
		return nil, want, fmt.Errorf("%w (run from the repository's root, or give -flights)", err)
	}
	defer f.Close()
	pf, err := file.NewParquetReader(f)
	if err != nil {
		return nil, want, err
	}
	ar, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, want, err
	}
	all, err := ar.ReadTable(ctx)
	if err != nil {
		return nil, want, err
	}
	defer all.Release()
	var events [][]any
	rows := array.NewTableReader(all, 0)
	defer rows.Release()
	for rows.Next() {
		rec := rows.RecordBatch()
		cell := func(name string, i int) any {
			col := rec.Column(rec.Schema().FieldIndices(name)[0])
			if col.IsNull(i) {
				return nil
			}
			switch c := col.(type) {
			case *array.Int32:
				return c.Value(i)
			case *array.String:
				return c.Value(i)
			}
			panic("the flights file has a column of another type: " + name)
		}
		for _, s := range []struct {
			name string
			sum  *int64
		}{{"dep_delay", &want.DepDelay}, {"arr_delay", &want.ArrDelay}, {"air_time", &want.AirTime}, {"distance", &want.Distance}} {
			*s.sum += total(rec.Column(rec.Schema().FieldIndices(s.name)[0]))
		}
		want.Flights += int(rec.NumRows())
		for i := range int(rec.NumRows()) {
			day := time.Date(int(cell("year", i).(int32)), time.Month(cell("month", i).(int32)), int(cell("day", i).(int32)), 0, 0, 0, 0, time.UTC)
			event := func(status string, version int32, depDelay, arrDelay, airTime any) {
				events = append(events, []any{arrow.Date32FromTime(day), cell("carrier", i), cell("flight", i), cell("origin", i), cell("dest", i),
					status, version, cell("sched_dep_time", i), depDelay, arrDelay, airTime, cell("distance", i)})
			}
			event("SCHEDULED", 1, nil, nil, nil)
			if cell("dep_time", i) == nil {
				want.Cancelled++
				event("CANCELLED", 2, nil, nil, nil)
				continue
			}
			event("DEPARTED", 2, cell("dep_delay", i), nil, nil)
			if cell("arr_time", i) != nil || cell("arr_delay", i) != nil {
				event("ARRIVED", 3, cell("dep_delay", i), cell("arr_delay", i), cell("air_time", i))
			}
		}
	}
	return events, want, rows.Err()
}
