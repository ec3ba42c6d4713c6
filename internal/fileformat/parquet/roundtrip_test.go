package parquet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

var scalarTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
	"DECIMAL(1,0)", "DECIMAL(9,2)", "DECIMAL(10,0)", "DECIMAL(18,6)", "DECIMAL(19,0)", "DECIMAL(38,10)",
	"CHAR(5)", "VARCHAR(10)", "STRING", "BINARY(3)", "VARBINARY(8)", "BYTES", "BLOB",
	"DATE", "TIME(0)", "TIME(3)",
	"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
	"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
}

var nestedTypes = []string{
	"ARRAY<INT>", "ARRAY<INT NOT NULL>", "ARRAY<STRING> NOT NULL", "ARRAY<ARRAY<BIGINT>>", "MAP<STRING, INT>", "MAP<INT, DECIMAL(10,2)>",
	"ROW<a INT, b STRING, c ROW<d DATE, e ARRAY<DOUBLE>>>", "ROW<a INT NOT NULL>", "ARRAY<ROW<x INT, y STRING>>",
	"MAP<STRING, ROW<x TIMESTAMP(3), y BOOLEAN>>", "ARRAY<MAP<STRING, INT>>", "MAP<STRING, ARRAY<INT>>", "MULTISET<STRING>",
	"MAP<STRING, MAP<INT, STRING>>", "ARRAY<DECIMAL(38,3)>", "ARRAY<TIMESTAMP(9)>", "ARRAY<BYTES>", "VARIANT", "ARRAY<VARIANT>",
}

// everything is a field of each type, nullable and not.
func everything(names []string) []types.Field {
	var out []types.Field
	for i, n := range names {
		out = append(out, field(2*i, fmt.Sprintf("n%d", i), n), field(2*i+1, fmt.Sprintf("r%d", i), n))
		out[2*i+1].Type.Nullable = false
	}
	return out
}

func randomRows(seed uint64, fields []types.Field, n int) [][]types.Value {
	r := rand.New(rand.NewPCG(seed, 0))
	rows := make([][]types.Value, n)
	for i := range rows {
		rows[i] = make([]types.Value, len(fields))
		for c, f := range fields {
			rows[i][c] = randomValue(r, f.Type, 0)
		}
	}
	return rows
}

func TestRoundTrip(t *testing.T) {
	optionSets := []fileformat.WriteOptions{
		{},
		{Workers: 4, Compression: "none"},
		{Compression: "snappy", Options: map[string]string{"parquet.enable.dictionary": "false"}},
		{Compression: "gzip", Options: map[string]string{"parquet.page.size": "200", "parquet.page.row.count.limit": "37"}},
		{Compression: "lz4_raw", Workers: 2, Options: map[string]string{"parquet.block.size": "4000"}},
		{Compression: "brotli", Options: map[string]string{"parquet.dictionary.page.size": "40"}},
		{Compression: "lz4", Workers: 2, Hold: 1 << 20, Options: map[string]string{"parquet.page.size": "100"}},
		{Hold: 1 << 20, Options: map[string]string{"parquet.block.size": "4000"}},
	}
	counts := []int{0, 1, 500}
	if testing.Short() {
		counts[2] = 120
	}
	for _, names := range [][]string{scalarTypes, nestedTypes} {
		fields := everything(names)
		for k, opts := range optionSets {
			for _, n := range counts {
				t.Run(fmt.Sprintf("%d columns, options %d, %d rows", len(fields), k, n), func(t *testing.T) {
					alloc := checked(t)
					opts.Mem = alloc
					rec := record(t, alloc, fields, randomRows(uint64(k*1000+n), fields, n))
					defer rec.Release()
					half := rec.NewSlice(0, int64(n/3))
					defer half.Release()
					rest := rec.NewSlice(int64(n/3), int64(n))
					defer rest.Release()
					fs, s := write(t, fields, opts, half, rest)
					if s.RowCount != int64(n) || len(s.Columns) != len(fields) {
						t.Fatalf("summary %+v", s)
					}
					f := open(t, fs, alloc)
					want := textOf(fields, rec)
					for _, req := range []fileformat.ReadRequest{
						{Columns: fields}, {Columns: fields, BatchRows: 7}, {Columns: fields, Workers: 3, BatchRows: 100},
					} {
						sameRows(t, rowsOf(t, f, req), want)
					}
					one := fields[len(fields)/2 : len(fields)/2+1]
					col := rec.Column(len(fields) / 2)
					single := recordOf(one, col)
					defer single.Release()
					sameRows(t, rowsOf(t, f, fileformat.ReadRequest{Columns: one, BatchRows: 11}), textOf(one, single))
				})
			}
		}
	}
}

func recordOf(fields []types.Field, cols ...arrow.Array) arrow.RecordBatch {
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		panic(err)
	}
	return newRecord(sc, cols)
}
