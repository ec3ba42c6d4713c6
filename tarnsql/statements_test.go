//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

// Each file of testdata/statements is a session: scripts and what comes of them.
// Clock and names of files are those of the seed.
//
//	sql            runs a script; of each statement the rows, or its name
//	wait           lets an hour pass
func TestStatements(t *testing.T) {
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		ctx := context.Background()
		clock := env.Seeded(1, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
		root := t.TempDir()
		w := newWorldOf(t, tarn.Config{Components: tarn.Components{Env: clock}}, tarnsql.Options{
			Threads: 1,
			OpenWarehouse: func(ctx context.Context, uri string) (catalog.Catalog, error) {
				return tarn.Open(ctx, strings.Replace(uri, "ROOT", root, 1), tarn.Config{Durability: fileio.OS, Components: tarn.Components{Env: clock}})
			},
		})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "wait":
				if err := clock.Sleep(ctx, time.Hour); err != nil {
					t.Fatal(err)
				}
				return ""
			case "sql":
				shown := strings.ReplaceAll(w.script(d.Input), w.dir, "WAREHOUSE")
				return fraction.ReplaceAllString(shown, "$1")
			}
			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}

// fraction is the part of a second, which the clock goes on by when it is asked.
var fraction = regexp.MustCompile(`(T\d\d:\d\d:\d\d)\.\d+`)

// script is what a user sees of a script.
func (w *world) script(script string) string {
	var out strings.Builder
	ctx := context.Background()
	_, err := w.db.Run(ctx, script, func(r *tarnsql.Result) error {
		if r.Rows == nil {
			out.WriteString(r.Statement)
			if r.Report != nil && r.Statement == "INSERT" {
				fmt.Fprintf(&out, " %d rows", r.Count)
			}
			out.WriteString("\n")
			return nil
		}
		names := make([]string, len(r.Rows.Fields()))
		for i, f := range r.Rows.Fields() {
			names[i] = f.Name
		}
		text, err := drain(ctx, r.Rows, r.Rows.Fields())
		out.WriteString("[" + strings.Join(names, ", ") + "]\n" + text)
		return err
	})
	if err != nil {
		fmt.Fprintf(&out, "%v: %v\n", tarnerr.KindOf(err), err)
	}
	return out.String()
}
