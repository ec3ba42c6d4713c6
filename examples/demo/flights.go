package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
	{Name: "tailnum", Type: text(true)},
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
func month(ctx context.Context, t *tour) error {
	var err error
	if t.flights, err = readSource(ctx, filepath.Join(t.data, "flights-2013-01.parquet")); err != nil {
		return err
	}
	events, want := flightEvents(t.flights)
	// The seed only makes every run shuffle alike.
	rand.New(rand.NewPCG(2013, 1)).Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	t.events = events
	fmt.Printf("\n2. %d real flights of January 2013 as %d events, shuffled, in %d commits\n", want.Flights, len(events), commits)
	fmt.Println("   Each event is the state of its flight then: scheduled (version 1), departed or cancelled (2), arrived (3).")

	flights, err := createFlights(ctx, t.cat)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := upsert(ctx, flights, events); err != nil {
		return err
	}
	elapsed := time.Since(start)
	fmt.Printf("   upserted %d rows in %.2f s: %.0f rows/s, commits included\n", len(events), elapsed.Seconds(), float64(len(events))/elapsed.Seconds())

	start = time.Now()
	got, err := measure(ctx, flights)
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
		// Compactions go with the commit that makes them worth it, not with one a moment
		// later: so a commit has the same snapshot each time, which the README names.
		Options: map[string]string{"bucket": "1", "sequence.field": "version", "commit.force-compact": "true"},
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
		part := events[arrived(events, c):arrived(events, c+1)]
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

// arrived is how many of the events the first n commits hold.
func arrived(events [][]any, n int) int { return len(events) * n / commits }

func measure(ctx context.Context, t table.Table) (figures, error) {
	var f figures
	r, err := t.Scan(ctx, table.Scan{Columns: []string{"status", "dep_delay", "arr_delay", "air_time", "distance"}})
	if err != nil {
		return f, err
	}
	err = each(ctx, r, func(rec arrow.RecordBatch) {
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

// flightEvents turns each flight of the source into its events, and sums the
// source up independently of them.
func flightEvents(flights *source) (events [][]any, want figures) {
	for f := range flights.rows() {
		day := arrow.Date32FromTime(dayOf(f))
		event := func(status string, version int32, depDelay, arrDelay, airTime any) {
			events = append(events, []any{
				day, f.value("carrier"), f.value("flight"), f.value("origin"), f.value("dest"), f.value("tailnum"),
				status, version, f.value("sched_dep_time"), depDelay, arrDelay, airTime, f.value("distance"),
			})
		}
		want.Flights++
		event("SCHEDULED", 1, nil, nil, nil)
		if f.value("dep_time") == nil {
			want.Cancelled++
			event("CANCELLED", 2, nil, nil, nil)
			continue
		}
		event("DEPARTED", 2, f.value("dep_delay"), nil, nil)
		if f.value("arr_time") != nil || f.value("arr_delay") != nil {
			event("ARRIVED", 3, f.value("dep_delay"), f.value("arr_delay"), f.value("air_time"))
		}
	}
	want.DepDelay, want.ArrDelay = flights.sum("dep_delay"), flights.sum("arr_delay")
	want.AirTime, want.Distance = flights.sum("air_time"), flights.sum("distance")
	return events, want
}

// dayOf is the day on which a flight was to leave.
func dayOf(f row) time.Time {
	part := func(column string) int { return int(f.value(column).(int32)) }
	return time.Date(part("year"), time.Month(part("month")), part("day"), 0, 0, 0, 0, time.UTC)
}
