package main

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// The rows of order 1001, in the order they arrive. The last one is late: it
// happened before the order was paid.
var orderEvents = []struct {
	status  string
	version int64
}{{"CREATED", 1}, {"PAID", 3}, {"CANCELLED", 2}}

// orders writes the same three rows to two tables that differ in one option.
func orders(ctx context.Context, tour *tour) error {
	cat := tour.cat
	fmt.Println("\n1. One order, three events, the last one late")
	if err := cat.CreateDatabase(ctx, "shop", true); err != nil {
		return err
	}
	for _, t := range []struct {
		name    string
		options map[string]string
		want    string
		why     string
	}{
		{"orders", map[string]string{"bucket": "1", "sequence.field": "version"}, "PAID",
			"with sequence.field=version the highest version wins, whenever it arrives"},
		{"orders_by_arrival", map[string]string{"bucket": "1"}, "CANCELLED",
			"without it the last arrival wins"},
	} {
		id := table.Identifier{Database: "shop", Table: t.name}
		if err := cat.CreateTable(ctx, id, orderSpec(t.options), false); err != nil {
			return err
		}
		tab, err := cat.LoadTable(ctx, id)
		if err != nil {
			return err
		}
		for _, e := range orderEvents {
			rows, err := buildRows(tab.ArrowSchema(), [][]any{{int64(1001), e.status, e.version}})
			if err != nil {
				return err
			}
			_, err = writeBatch(ctx, tab, rows)
			rows.Release()
			if err != nil {
				return err
			}
		}
		fmt.Printf("\n   %s: %s\n", id, t.why)
		got, err := show(ctx, tab, table.Scan{})
		if err != nil {
			return err
		}
		if len(got) != 1 || got[0][1] != t.want {
			return fmt.Errorf("%s reads %v, want one row with %s", id, got, t.want)
		}
	}
	return explain(ctx, cat)
}

func orderSpec(options map[string]string) schema.Spec {
	text := types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
	long := types.Type{Root: types.BigInt, Nullable: true}
	return schema.Spec{
		Fields:      []types.Field{{Name: "order_id", Type: long}, {Name: "status", Type: text}, {Name: "version", Type: long}},
		PrimaryKeys: []string{"order_id"},
		Options:     options,
	}
}

// explain shows the system tables behind what was read.
func explain(ctx context.Context, cat catalog.Catalog) error {
	for _, s := range []struct {
		system  string
		columns []string
		why     string
	}{
		{"snapshots", []string{"snapshot_id", "commit_kind", "commit_identifier", "total_record_count", "delta_record_count"},
			"each commit is one snapshot; a reader sees one of them whole, never half of the next"},
		{"files", []string{"file_path", "level", "record_count", "min_key", "max_key", "min_sequence_number"},
			"each commit added one sorted file at level 0; nothing was rewritten, the read merged them"},
	} {
		id := table.Identifier{Database: "shop", Table: "orders", System: s.system}
		tab, err := cat.LoadTable(ctx, id)
		if err != nil {
			return err
		}
		fmt.Printf("\n   %s: %s\n", id, s.why)
		if _, err := show(ctx, tab, table.Scan{Columns: s.columns}); err != nil {
			return err
		}
	}
	return nil
}
