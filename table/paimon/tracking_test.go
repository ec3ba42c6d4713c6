package paimon_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func trackedSpec(options ...string) schema.Spec {
	return with(appendSpec(), append([]string{"row-tracking.enabled", "true", "compaction.min.file-num", "2"}, options...)...)
}

// tracking opens $row_tracking.
func (f *fixture) tracking(fio fileio.FileIO) table.Table {
	f.Helper()
	return f.system(fio, "row_tracking")
}

func (f *fixture) system(fio fileio.FileIO, of string) table.Table {
	f.Helper()
	t, err := f.tryOpen(fio, table.Identifier{Database: "db", Table: "t", System: of})
	if err != nil {
		f.Fatal(err)
	}
	return t
}

func TestRowIDs(t *testing.T) {
	f := newFixture(t)
	fs := f.create(trackedSpec())
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1, 2, 3))
	f.mustWrite(tbl, ids("tue", "b", 4, 5))
	f.mustWrite(tbl, ids("mon", "c", 6))
	tracking := f.tracking(fs)
	all := []string{"mon|1|a|0|1", "mon|2|a|1|1", "mon|3|a|2|1", "mon|6|c|5|3", "tue|4|b|3|2", "tue|5|b|4|2"}
	check := func() {
		t.Helper()
		f.want(f.rows(tracking, table.Scan{}), all...)
		f.want(f.rows(tracking, table.Scan{Columns: []string{"_ROW_ID"}}), "0", "1", "2", "3", "4", "5")
		f.want(f.rows(tracking, table.Scan{Columns: []string{"_SEQUENCE_NUMBER", "_ROW_ID"}, Where: expr.Compare{Column: "id", Op: expr.Gt, Value: 4}}), "2|4", "3|5")
		f.want(f.rows(tracking, table.Scan{Columns: []string{"v"}, Where: expr.In{Column: "_ROW_ID", Values: []any{2, 5}}}), "a", "c")
		f.want(f.rows(tracking, table.Scan{Columns: []string{"id"}, Where: expr.Compare{Column: "_SEQUENCE_NUMBER", Op: expr.Lt, Value: 3}}), "1", "2", "3", "4", "5")
		f.want(f.rows(tracking, table.Scan{Columns: []string{"_ROW_ID"}, SnapshotID: 2}), "0", "1", "2", "3", "4")
		f.want(f.rows(tracking, table.Scan{Columns: []string{"id"}, Where: expr.IsNull{Column: "_ROW_ID"}}))
		if got := f.rows(tracking, table.Scan{Limit: 4, Workers: 1}); len(got) != 4 || slices.ContainsFunc(got, func(l string) bool { return !slices.Contains(all, l) }) {
			t.Errorf("four rows: %q", got)
		}
		f.want(f.rows(tbl, table.Scan{Columns: []string{"id"}}), "1", "2", "3", "4", "5", "6")
	}
	check()
	f.want(f.rows(f.system(fs, "files"), table.Scan{Columns: []string{"first_row_id", "min_sequence_number", "max_sequence_number", "write_cols"}}),
		"0|1|1|(null)", "3|2|2|(null)", "5|3|3|(null)")
	f.want(f.rows(f.system(fs, "snapshots"), table.Scan{Columns: []string{"snapshot_id", "next_row_id"}}), "1|3", "2|5", "3|6")
	f.want(f.rows(f.system(fs, "manifests"), table.Scan{Columns: []string{"min_row_id", "max_row_id"}}), "0|2", "3|4", "5|5")

	// Rows that are joined keep what they have.
	if r := f.compact(tbl, table.CompactOptions{}); r.FilesBefore != 2 || r.FilesAfter != 1 {
		t.Errorf("report %+v", r)
	}
	check()
	f.want(f.rows(f.system(fs, "files"), table.Scan{Columns: []string{"first_row_id", "min_sequence_number", "max_sequence_number", "write_cols"}}),
		`(null)|1|3|["day","id","v","_ROW_ID","_SEQUENCE_NUMBER"]`, "3|2|2|(null)")
	if s := f.latest(tbl); *s.NextRowID != 6 {
		t.Errorf("a compaction has given out ids: %d", *s.NextRowID)
	}
	f.mustWrite(tbl, ids("mon", "d", 7))
	f.compact(tbl, table.CompactOptions{})
	all = []string{"mon|1|a|0|1", "mon|2|a|1|1", "mon|3|a|2|1", "mon|6|c|5|3", "mon|7|d|6|5", "tue|4|b|3|2", "tue|5|b|4|2"}
	f.want(f.rows(tracking, table.Scan{}), all...)

	// Rows that replace others are new ones.
	w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Overwrite: &table.Overwrite{}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := f.batch(tbl, ids("mon", "e", 1))
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.want(f.rows(tracking, table.Scan{}), "mon|1|e|7|7", "tue|4|b|3|2", "tue|5|b|4|2")
}

// The system table is read as the table is, and not written to.
func TestRowTrackingTable(t *testing.T) {
	f := newFixture(t)
	plain := f.create(appendSpec())
	if _, err := f.tryOpen(plain, table.Identifier{Database: "db", Table: "t", System: "row_tracking"}); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "row-tracking.enabled") {
		t.Errorf("a table without row ids: %v", err)
	}
	fs := f.create(trackedSpec())
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	tracking := f.tracking(fs)
	if _, err := tracking.NewBatchWrite(f.ctx, table.WriteOptions{}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("writing: %v", err)
	}
	if _, err := tracking.Scan(f.ctx, table.Scan{Where: expr.Compare{Column: "_ROW", Op: expr.Eq, Value: 1}}); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("no such column: %v", err)
	}
	if _, err := tbl.Scan(f.ctx, table.Scan{Columns: []string{"_ROW_ID"}}); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("row ids of the table itself: %v", err)
	}
	s, err := tracking.SchemaAt(f.ctx, 1)
	if err != nil || len(s.Fields) != 5 || s.Fields[3].ID != types.RowIDID || s.Fields[4].ID != types.SequenceNumberID || len(tracking.Schema().Fields) != 5 {
		t.Errorf("%v, %v", s, err)
	}
	follower, err := tracking.Follow(f.ctx, table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	f.mustWrite(tbl, ids("mon", "b", 3))
	for _, want := range [][]string{{"0|mon|1|a|0|1", "0|mon|2|a|1|1"}, {"0|mon|3|b|2|2"}} {
		c, err := follower.Next(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for rec, err := c.Rows.Next(f.ctx); err == nil; rec, err = c.Rows.Next(f.ctx) {
			for i := range int(rec.NumRows()) {
				var cells []string
				for _, col := range rec.Columns() {
					cells = append(cells, col.ValueStr(i))
				}
				got = append(got, strings.Join(cells, "|"))
			}
		}
		f.want(got, want...)
	}
}

// A large file knows where its rows are, however it is cut up and whatever is
// skipped; all files of a commit are of its snapshot.
func TestRowIDsOfLargeFiles(t *testing.T) {
	const rows = 70_000
	for _, format := range []string{"parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(trackedSpec("file.format", format, "parquet.page.row.count.limit", "1000"))
			tbl := f.open(fs)
			f.mustWrite(tbl, ids("mon", "first", 1))
			var text strings.Builder
			for i := range rows {
				fmt.Fprintf(&text, `%c{"day":"mon","id":%d,"v":"row %d of many"}`, "[,"[min(i, 1)], i, i%1000)
			}
			f.mustWrite(tbl, text.String()+"]")
			tracking := f.tracking(fs)
			scan := table.Scan{Columns: []string{"_ROW_ID", "id", "_SEQUENCE_NUMBER"}, Where: expr.Compare{Column: "_SEQUENCE_NUMBER", Op: expr.Eq, Value: 2}}
			p, err := tracking.Plan(f.ctx, scan)
			if err != nil {
				t.Fatal(err)
			}
			var pieces []table.Split
			for _, s := range p.Splits {
				pieces = append(pieces, s.Pieces(20_000)...)
			}
			if format == "parquet" && len(pieces) < 2 {
				t.Errorf("%d pieces", len(pieces))
			}
			seen := 0
			each := func(lines []string) {
				t.Helper()
				for _, l := range lines {
					cells := strings.Split(l, "|")
					id, _ := strconv.Atoi(cells[0])
					n, _ := strconv.Atoi(cells[1])
					if id != n+1 || cells[2] != "2" {
						t.Fatalf("row %s", l)
					}
				}
				seen += len(lines)
			}
			r, err := tracking.Read(f.ctx, scan, pieces...)
			if err != nil {
				t.Fatal(err)
			}
			each(f.drain(r))
			if seen != rows {
				t.Errorf("%d rows", seen)
			}
			seen = 0
			scan.Where = expr.And{scan.Where, expr.Compare{Column: "v", Op: expr.Eq, Value: "row 777 of many"}}
			each(f.rows(tracking, scan))
			if seen != rows/1000 {
				t.Errorf("%d rows of 777", seen)
			}
			f.want(f.rows(tracking, table.Scan{Columns: []string{"id"}, Where: expr.Compare{Column: "_ROW_ID", Op: expr.Eq, Value: 54322}}), "54321")
		})
	}
}

// Files whose rows have lost their ids, as compactions leave them that do not know of
// row tracking, are left as they are, and do not keep others from being joined.
func TestRowIDsThatAreLost(t *testing.T) {
	f := newFixture(t)
	var told []string
	f.events = &event.Listener{Warning: func(i event.Warning) { told = append(told, i.Doing+": "+i.Err.Error()) }}
	fs := f.create(with(appendSpec(), "compaction.min.file-num", "2"))
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "lost", 0, 1))
	f.mustWrite(tbl, ids("mon", "lost", 2, 3))
	lost := f.rows(f.system(fs, "files"), table.Scan{Columns: []string{"file_path"}})
	text, _ := fs.Get(dir + "/schema/schema-0")
	fs.Put(dir+"/schema/schema-0", bytes.Replace(text, []byte(`"options" : {`), []byte(`"options" : {"row-tracking.enabled" : "true",`), 1))
	tbl = f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 4, 5))
	f.mustWrite(tbl, ids("mon", "b", 6))
	r, err := tbl.Compact(f.ctx, table.CompactOptions{})
	if err != nil || r.FilesBefore != 2 || r.FilesAfter != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|0|lost", "mon|1|lost", "mon|2|lost", "mon|3|lost", "mon|4|a", "mon|5|a", "mon|6|b")
	f.want(f.rows(f.tracking(fs), table.Scan{Columns: []string{"id", "_ROW_ID"}, Where: expr.Compare{Column: "id", Op: expr.Ge, Value: 4}}), "4|0", "5|1", "6|2")
	if len(told) != 1 || !strings.Contains(told[0], "no row ids. files=2 partition=day=mon") {
		t.Errorf("told %q", told)
	}
	files := f.rows(f.system(fs, "files"), table.Scan{Columns: []string{"file_path"}})
	if len(lost) != 2 || !slices.Contains(files, lost[0]) || !slices.Contains(files, lost[1]) {
		t.Errorf("files %q, of which %q have lost their ids", files, lost)
	}
	if r, err := tbl.Compact(f.ctx, table.CompactOptions{}); err != nil || r.Compacted != 0 {
		t.Errorf("once more: %+v, %v", r, err)
	}
}

// A writer whose file grows too large goes on in another one.
func TestRowIDsOverSeveralFiles(t *testing.T) {
	f := newFixture(t)
	fs := f.create(trackedSpec("target-file-size", "1 kb"))
	tbl := f.open(fs)
	var many []int
	for i := range 5000 {
		many = append(many, i)
	}
	f.mustWrite(tbl, ids("mon", "a", many...))
	files := f.rows(f.system(fs, "files"), table.Scan{Columns: []string{"min_sequence_number", "max_sequence_number", "first_row_id"}})
	if len(files) < 3 || slices.ContainsFunc(files, func(l string) bool { return !strings.HasPrefix(l, "1|1|") }) {
		t.Errorf("files %q", files)
	}
	f.want(f.rows(f.tracking(fs), table.Scan{Columns: []string{"id", "_ROW_ID"}, Where: expr.Compare{Column: "id", Op: expr.Ge, Value: 4998}}), "4998|4998", "4999|4999")
}

// TestRowIDsStay compares a table with a model over random histories: each row keeps
// its id and number whatever happens around it; new rows have the next ids and the
// number of their snapshot; no id is given twice.
func TestRowIDsStay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		options := []string{"file.format", rapid.SampledFrom([]string{"parquet", "avro"}).Draw(rt, "format")}
		if rapid.Bool().Draw(rt, "grouped") {
			options = append(options, "row-tracking.partition-group-on-commit", "true")
		}
		if rapid.Bool().Draw(rt, "no stats") {
			options = append(options, "metadata.stats-mode", "none")
		}
		fs := f.create(trackedSpec(options...))
		type row struct {
			day               string
			id, rowID, number int64
		}
		model := map[int64]row{} // by id, which is unique here
		next, serial := int64(0), int64(0)
		write := func(t table.Table, opts table.WriteOptions, days []string) {
			var text []string
			var fresh []int64
			for _, day := range days {
				for range rapid.IntRange(1, 4).Draw(rt, "rows") {
					serial++
					fresh = append(fresh, serial)
					model[serial] = row{day: day, id: serial, rowID: -1}
					text = append(text, fmt.Sprintf(`{"day":%q,"id":%d}`, day, serial))
				}
			}
			if opts.Overwrite != nil {
				maps.DeleteFunc(model, func(_ int64, r row) bool { return r.rowID >= 0 && slices.Contains(days, r.day) })
			}
			rec := f.batch(t, "["+strings.Join(text, ",")+"]")
			defer rec.Release()
			w, err := t.NewBatchWrite(f.ctx, opts)
			if err != nil {
				rt.Fatal(err)
			}
			defer w.Close()
			if err := w.Write(f.ctx, rec); err != nil {
				rt.Fatal(err)
			}
			r, err := w.Commit(f.ctx)
			if err != nil {
				rt.Fatal(err)
			}
			// Which rows got which of the new ids is the business of their files.
			given := map[int64]bool{}
			for _, l := range f.rows(f.tracking(fs), table.Scan{Columns: []string{"id", "_ROW_ID", "_SEQUENCE_NUMBER"}}) {
				var id, rowID, number int64
				fmt.Sscanf(l, "%d|%d|%d", &id, &rowID, &number)
				if slices.Contains(fresh, id) {
					m := model[id]
					m.rowID, m.number = rowID, number
					model[id] = m
					given[rowID] = true
					if rowID < next || rowID >= next+int64(len(fresh)) || number != r.Snapshots[0] {
						rt.Fatalf("row %d has row id %d and number %d; %d ids from %d on, snapshot %d", id, rowID, number, len(fresh), next, r.Snapshots[0])
					}
				}
			}
			if len(given) != len(fresh) {
				rt.Fatalf("%d rows have %d ids", len(fresh), len(given))
			}
			next += int64(len(fresh))
		}
		days := func() []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"mon", "tue", "wed"}), 1, 3, rapid.ID).Draw(rt, "days")
		}
		columns := 0
		for range rapid.IntRange(2, 8).Draw(rt, "steps") {
			tbl := f.open(fs)
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0, 1, 2:
				write(tbl, table.WriteOptions{}, days())
			case 3, 4:
				f.compact(tbl, table.CompactOptions{})
			case 5:
				write(tbl, table.WriteOptions{Overwrite: &table.Overwrite{}}, days())
			default:
				columns++
				change := schema.AddColumn{Path: []string{fmt.Sprint("c", columns)}, Type: types.MustParse("INT")}
				if _, err := schema.NewStore(fs, dir, env.Real()).Alter(f.ctx, change); err != nil {
					rt.Fatal(err)
				}
			}
			var want []string
			for _, r := range model {
				want = append(want, fmt.Sprintf("%s|%d|%d|%d", r.day, r.id, r.rowID, r.number))
			}
			slices.Sort(want)
			scan := table.Scan{Columns: []string{"day", "id", "_ROW_ID", "_SEQUENCE_NUMBER"}}
			if got := f.rows(f.tracking(fs), scan); !slices.Equal(got, want) {
				rt.Fatalf("rows\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
			at := rapid.Int64Range(0, next).Draw(rt, "row id")
			scan.Where = expr.Compare{Column: "_ROW_ID", Op: expr.Eq, Value: at}
			want = slices.DeleteFunc(want, func(l string) bool { return strings.Split(l, "|")[2] != fmt.Sprint(at) })
			if got := f.rows(f.tracking(fs), scan); !slices.Equal(got, want) {
				rt.Fatalf("row id %d: %q, want %q", at, got, want)
			}
		}
	})
}
