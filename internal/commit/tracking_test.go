package commit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestTracking runs on text how row ids and sequence numbers are given out: files
// before and after, a line each, `ADD partition name rows [source] [sequence min max]
// [row first] [carries]`.
func TestTracking(t *testing.T) {
	datadriven.Walk(t, "testdata/tracking", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			ch := change{files: parseTracked(t, d.Input)}
			if err := ch.checkRowIDs(); err != nil {
				return fmt.Sprintf("refused: %v: %v\n", tarnerr.KindOf(err), err)
			}
			var base *snapshot.Snapshot
			if d.HasArg("base") {
				var id, next int64
				d.ScanArgs(t, "base", &id, &next)
				base = &snapshot.Snapshot{ID: id, NextRowID: &next}
			}
			b := builder{cfg: Config{Options: option.Options{RowTracking: true, RowTrackingGrouped: d.HasArg("grouped")}}}
			out, err := b.tracked(base, ch)
			if err != nil {
				return fmt.Sprintf("refused: %v: %v\n", tarnerr.KindOf(err), err)
			}
			again, err := b.tracked(base, ch)
			if err != nil || !out.same(&again) || again.rowIDs != out.rowIDs {
				t.Errorf("%s: another try on the same base gives something else", d.Pos)
			}
			if showTracked(ch.files) != showTracked(parseTracked(t, d.Input)) {
				t.Errorf("%s: the files of the messages were changed", d.Pos)
			}
			return showTracked(out.files) + fmt.Sprintf("next row id %d\n", nextRowID(base)+out.rowIDs)
		})
	})
}

func parseTracked(t *testing.T, in string) []manifest.Entry {
	t.Helper()
	var out []manifest.Entry
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for line := range strings.Lines(strings.TrimSpace(in)) {
		w := strings.Fields(line)
		source := datafile.Append
		f := &datafile.Meta{FileName: w[2], RowCount: number(w[3]), FileSource: &source}
		e := manifest.Entry{Partition: partition(t, w[1]), File: f}
		if w[0] == "DELETE" {
			e.Kind = manifest.Delete
		}
		for w = w[4:]; len(w) > 0; w = w[1:] {
			switch w[0] {
			case "compacted":
				source = datafile.Compact
			case "unsaid":
				f.FileSource = nil
			case "sequence":
				f.MinSequence, f.MaxSequence, w = number(w[1]), number(w[2]), w[2:]
			case "row":
				first := number(w[1])
				f.FirstRowID, w = &first, w[1:]
			case "carries":
				f.WriteCols = []string{"k", types.RowIDName, types.SequenceNumberName}
			default:
				t.Fatalf("no such word: %s", w[0])
			}
		}
		out = append(out, e)
	}
	return out
}

func showTracked(files []manifest.Entry) string {
	var b strings.Builder
	for _, e := range files {
		fmt.Fprintf(&b, "%s %s sequence %d %d", e.Kind, e.File.FileName, e.File.MinSequence, e.File.MaxSequence)
		if e.File.FirstRowID != nil {
			fmt.Fprintf(&b, " row %d", *e.File.FirstRowID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
