package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
)

// BenchmarkImport takes text into tables in memory, from the first byte to the commit.
func BenchmarkImport(b *testing.B) {
	const rows = 50_000
	const columns = "id BIGINT NOT NULL, name STRING, amount DECIMAL(10,2), rate DOUBLE, at TIMESTAMP(3), n INT"
	var csv, jsonl strings.Builder
	csv.WriteString("id,name,amount,rate,at,n\n")
	for i := range rows {
		name, amount, rate := fmt.Sprintf("customer %d", i%1000), fmt.Sprintf("%d.%02d", i%5000, i%100), float64(i)/8
		at := fmt.Sprintf("2024-01-%02dT%02d:%02d:%02d.%03d", 1+i%31, i%24, i%60, i%60, i%1000)
		fmt.Fprintf(&csv, "%d,%s,%s,%g,%s,%d\n", i, name, amount, rate, at, i%7)
		fmt.Fprintf(&jsonl, `{"id":%d,"name":%q,"amount":"%s","rate":%g,"at":%q,"n":%d}`+"\n", i, name, amount, rate, at, i%7)
	}
	run := func(b *testing.B, fio fileio.FileIO, stdin string, args ...string) string {
		rt, err := tarn.NewRuntime(tarn.Config{Components: tarn.Components{FileIO: fio}})
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		a := &app{in: strings.NewReader(stdin), out: &out, errOut: &out, rt: rt}
		if a.cat, err = rt.Open(context.Background(), "/w"); err != nil {
			b.Fatal(err)
		}
		cmd := a.root()
		cmd.SetArgs(args)
		err = cmd.ExecuteContext(context.Background())
		if closeErr := a.close(); err != nil || closeErr != nil {
			b.Fatal(err, closeErr, out.String())
		}
		return out.String()
	}
	empty := mem.New(mem.Posix)
	run(b, empty, "", "db", "create", "db")
	run(b, empty, "", "table", "create", "db.append", columns)
	run(b, empty, "", "table", "create", "db.key", columns, "--primary-key", "id", "--option", "bucket=2")
	for _, c := range []struct {
		name, text string
		args       []string
	}{
		{"append/csv", csv.String(), []string{"db.append", "-", "--format", "csv", "--header"}},
		{"append/jsonl", jsonl.String(), []string{"db.append", "-", "--format", "jsonl"}},
		{"key/csv", csv.String(), []string{"db.key", "-", "--format", "csv", "--header"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				out := run(b, empty.Clone(), c.text, append([]string{"table", "import"}, c.args...)...)
				if !strings.HasPrefix(out, fmt.Sprintf("committed %d rows as snapshot 1 ", rows)) {
					b.Fatal(out)
				}
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
