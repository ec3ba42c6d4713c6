package tarn_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// The whole walk: a warehouse in an empty folder, a primary-key table, one
// commit with its report, and a filtered scan.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tarn-example-")
	check(err)
	defer os.RemoveAll(dir)

	cat, err := tarn.Open(ctx, dir, tarn.Config{Memory: 64 << 20})
	check(err)
	defer cat.Close()

	// Create.
	check(cat.CreateDatabase(ctx, "shop", false))
	id := table.Identifier{Database: "shop", Table: "orders"}
	check(cat.CreateTable(ctx, id, schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "status", Type: types.MustParse("STRING")},
			{Name: "version", Type: types.MustParse("INT")},
		},
		PrimaryKeys: []string{"id"},
		Options:     map[string]string{"bucket": "1", "sequence.field": "version"},
	}, false))
	orders, err := cat.LoadTable(ctx, id)
	check(err)

	// Write: the versions of order 1001 come out of order.
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, orders.ArrowSchema(), strings.NewReader(`[
		{"id": 1001, "status": "CREATED",   "version": 1},
		{"id": 1001, "status": "PAID",      "version": 3},
		{"id": 1001, "status": "CANCELLED", "version": 2},
		{"id": 1002, "status": "CREATED",   "version": 1}]`))
	check(err)
	defer rows.Release()
	w, err := orders.NewBatchWrite(ctx, table.WriteOptions{})
	check(err)
	defer w.Close()
	check(w.Write(ctx, rows))

	// Commit: nil means visible and durable.
	report, err := w.Commit(ctx)
	check(err)
	fmt.Printf("%s: snapshots %v, %d file added\n", report.Status, report.Snapshots, report.FilesAdded)

	// Read.
	r, err := orders.Scan(ctx, table.Scan{
		Columns: []string{"id", "status"},
		Where:   expr.Compare{Column: "id", Op: expr.Eq, Value: 1001},
	})
	check(err)
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		check(err)
		for i := range int(rec.NumRows()) {
			fmt.Println(rec.Column(0).ValueStr(i), rec.Column(1).ValueStr(i))
		}
	}
	// Output:
	// SUCCEEDED: snapshots [1], 1 file added
	// 1001 PAID
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
