package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/bench/rows"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/table"
)

// scan plans and reads, and sums every column read. Charged: all of it.
func scan(ctx context.Context, j *job) error {
	limitMemory(300 << 20)
	iters := 3
	if err := j.numbers(map[string]*int{"iters": &iters}); err != nil {
		return err
	}
	t, end, err := j.load(ctx, j.text("table", "mor"))
	if err != nil {
		return err
	}
	defer end()
	for _, kind := range j.list("kinds", "full,two,range") {
		var s table.Scan
		switch kind {
		case "full":
		case "two":
			s.Columns = []string{"id", "amount"}
		case "range":
			s.Where = expr.And{
				expr.Compare{Column: "id", Op: expr.Ge, Value: int64(j.rows * 40 / 100)},
				expr.Compare{Column: "id", Op: expr.Lt, Value: int64(j.rows * 41 / 100)},
			}
		default:
			return fmt.Errorf("kind %q is none of full, two, range", kind)
		}
		for it := range iters {
			c := startClock()
			sums, err := read(ctx, t, s, j.threads)
			if err != nil {
				return err
			}
			wall, cpu := c.stop()
			result(kind, nth(it), sums.Rows, wall, cpu, fmt.Sprintf(`,"threads":%d,"check":%s`, j.threads, sums.JSON()))
		}
	}
	return nil
}

// read plans, then reads and sums the splits, so many side by side.
func read(ctx context.Context, t table.Table, s table.Scan, threads int) (*rows.Sums, error) {
	p, err := t.Plan(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Workers = 1
	if threads == 1 || len(p.Splits) < 2 {
		return sum(ctx, t, s, p.Splits...)
	}
	parts := make([]*rows.Sums, len(p.Splits))
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(threads)
	for i, split := range p.Splits {
		eg.Go(func() (err error) {
			parts[i], err = sum(ctx, t, s, split)
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	for _, part := range parts[1:] {
		parts[0].Merge(part)
	}
	return parts[0], nil
}

func sum(ctx context.Context, t table.Table, s table.Scan, splits ...table.Split) (sums *rows.Sums, err error) {
	r, err := t.Read(ctx, s, splits...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sums = &rows.Sums{}
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return sums, nil
		}
		if err != nil {
			return nil, err
		}
		if err := sums.Add(rec); err != nil {
			return nil, err
		}
	}
}

// lookup asks for single keys, one after another: plan and read with id = key.
func lookup(ctx context.Context, j *job) error {
	q := 100
	if err := j.numbers(map[string]*int{"q": &q}); err != nil {
		return err
	}
	t, end, err := j.load(ctx, j.text("table", "comp"))
	if err != nil {
		return err
	}
	defer end()
	for _, variant := range []string{"cold", "warm"} {
		var found rows.Sums
		each := make([]time.Duration, q)
		for i := range q {
			start := time.Now()
			one, err := read(ctx, t, table.Scan{Where: expr.Compare{Column: "id", Op: expr.Eq, Value: rows.Key(i, j.rows)}}, 1)
			if err != nil {
				return err
			}
			each[i] = time.Since(start)
			found.Merge(one)
		}
		latencies("lookup", variant, each, fmt.Sprintf(`,"check":{"n":%d,"seq":%s}`, found.Rows, found.Seq()))
	}
	return nil
}

// tinyRead opens a table of 100 rows and reads it; the whole process counts.
func tinyRead(ctx context.Context, j *job) error {
	start := time.Now()
	t, end, err := j.load(ctx, "tiny")
	if err != nil {
		return err
	}
	defer end()
	sums, err := read(ctx, t, table.Scan{}, j.threads)
	if err != nil {
		return err
	}
	result("tiny-read", "in-process", sums.Rows, time.Since(start), 0, `,"check":`+sums.JSON())
	return nil
}

// plan only plans: a table with many files, then one of its partitions.
func plan(ctx context.Context, j *job) error {
	parts := max(1, j.rows/100)
	for _, name := range j.list("tables", "app,pk") {
		t, end, err := j.load(ctx, name)
		if err != nil {
			return err
		}
		defer end()
		for _, w := range []struct {
			metric string
			times  int
			filter bool
		}{{"plan-full-", 7, false}, {"plan-part-", 20, true}} {
			each := make([]time.Duration, w.times)
			files := 0
			for i := range each {
				var s table.Scan
				if w.filter {
					s.Where = expr.Compare{Column: "p", Op: expr.Eq, Value: int32(i % parts)}
				}
				start := time.Now()
				p, err := t.Plan(ctx, s)
				if err != nil {
					return err
				}
				each[i] = time.Since(start)
				files = 0
				for _, split := range p.Splits {
					files += split.Files()
				}
			}
			latencies(w.metric+name, "all", each, `,"files":`+strconv.Itoa(files))
		}
	}
	return nil
}
