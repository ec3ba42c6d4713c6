package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/bench/rows"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
)

// ingest writes rows that are in memory already, a batch write per commit or one
// stream. Charged: writing, committing, closing; not charged: making the rows. With
// warmup=N a first table gets the N-th part of the rows.
func ingest(ctx context.Context, j *job) error {
	limitMemory(240 << 20)
	keyed := j.text("pk", "true") == "true"
	mode := "batch"
	if keyed {
		mode = "stream"
	}
	if mode = j.text("mode", mode); !slices.Contains([]string{"batch", "stream", "writeonly"}, mode) {
		return fmt.Errorf("mode=%s is none of batch, stream, writeonly", mode)
	}
	commits, iters, parts, warmup := 10, 2, 0, 0
	if err := j.numbers(map[string]*int{"commits": &commits, "iters": &iters, "parts": &parts, "warmup": &warmup}); err != nil {
		return err
	}
	spec := tableSpec(keyed, parts > 0)
	spec.Options["bucket"] = j.text("bucket", spec.Options["bucket"])
	if mode == "writeonly" {
		spec.Options["write-only"] = "true"
	}
	changelog := j.text("changelog", "none")
	if changelog != "none" {
		spec.Options["changelog-producer"] = changelog
	}
	var published time.Duration
	j.config.Components.Listener = &event.Listener{CommitEnd: func(e event.CommitEnd) { published += e.Elapsed }}
	files := j.counted()
	cat, err := j.open(ctx)
	if err != nil {
		return err
	}
	defer cat.Close()
	for it := range iters {
		all, variant := j.rows, nth(it)
		if it == 0 && warmup > 0 {
			all, variant = j.rows/warmup, "warm-up"
		}
		t, err := create(ctx, cat, j.text("name", "ingest")+strconv.Itoa(it), spec)
		if err != nil {
			return err
		}
		published = 0
		files.Reset()
		var spent times
		var stream table.StreamWrite
		if keyed && mode == "stream" {
			opening := startClock()
			if stream, err = t.NewStreamWrite(ctx, table.WriteOptions{User: "bench"}); err != nil {
				return err
			}
			spent.charge(opening)
		}
		for c := range commits {
			n := all / commits
			made := rows.Spec{From: uint64(c * n), N: n, Keys: uint64(all * 2 / 5)}
			if parts > 0 {
				made.Partition = func(id int64) int32 { return int32(id % int64(parts)) }
			}
			batches, err := rows.Make(memory.DefaultAllocator, made)
			if err != nil {
				return err
			}
			if stream != nil {
				// What was compacted is charged in full. Changelogs wait, as those of Flink's sink do.
				stream.WaitForCompaction(c == commits-1 || changelog != "none")
				err = spent.add(ctx, stream, batches, int64(c+1))
			} else {
				err = spent.write(ctx, t, batches)
			}
			if err != nil {
				return err
			}
			for _, b := range batches {
				b.Release()
			}
		}
		if stream != nil {
			closing := startClock()
			if err := stream.Close(); err != nil {
				return err
			}
			spent.charge(closing)
		}
		result("ingest", variant, int64(all), spent.wall, spent.cpu,
			fmt.Sprintf(`,"write_s":%.3f,"prepare_s":%.3f,"commit_s":%.3f,"wbytes":%d,"durability":%q`, spent.writing.Seconds(),
				(spent.wall-spent.writing-published).Seconds(), published.Seconds(), files.BytesWritten(), j.config.Durability.String()))
	}
	return nil
}

// times add up what commits took.
type times struct{ wall, cpu, writing time.Duration }

// charge adds what went by since a clock was started.
func (s *times) charge(c clock) {
	wall, cpu := c.stop()
	s.wall += wall
	s.cpu += cpu
}

func (s *times) write(ctx context.Context, t table.Table, batches []arrow.RecordBatch) (err error) {
	c := startClock()
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, b := range batches {
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
	s.writing += time.Since(c.start)
	if _, err := w.Commit(ctx); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	s.charge(c)
	return nil
}

// add commits batches in a stream.
func (s *times) add(ctx context.Context, w table.StreamWrite, batches []arrow.RecordBatch, identifier int64) error {
	c := startClock()
	for _, b := range batches {
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
	s.writing += time.Since(c.start)
	if _, err := w.Commit(ctx, identifier); err != nil {
		return err
	}
	s.charge(c)
	return nil
}

// tableSpec is the table of all workloads.
func tableSpec(keyed, partitioned bool) schema.Spec {
	s := schema.Spec{Fields: rows.Fields(partitioned), Options: map[string]string{"bucket": "-1"}}
	if partitioned {
		s.PartitionKeys = []string{"p"}
	}
	if keyed {
		s.PrimaryKeys = append(s.PartitionKeys[:len(s.PartitionKeys):len(s.PartitionKeys)], "id")
		s.Options["bucket"] = "2"
	}
	return s
}

// create makes the table afresh.
func create(ctx context.Context, cat catalog.Catalog, name string, spec schema.Spec) (table.Table, error) {
	id := table.Identifier{Database: "b", Table: name}
	if err := cat.CreateDatabase(ctx, id.Database, true); err != nil {
		return nil, err
	}
	if err := cat.DropTable(ctx, id, true); err != nil {
		return nil, err
	}
	if err := cat.CreateTable(ctx, id, spec, false); err != nil {
		return nil, err
	}
	return cat.LoadTable(ctx, id)
}
