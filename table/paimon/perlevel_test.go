package paimon_test

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/table"
)

// Format, compression and statistics of a data file, and of a changelog file, are those
// of its level, whether it was flushed, compacted to a level between or to the highest.
func TestFilesOfLevels(t *testing.T) {
	large := `[{"day":"mon","id":0,"v":"a"}`
	for i := range 400 { // so that what is written later is not merged with it
		large += fmt.Sprintf(`,{"day":"mon","id":%d,"v":"b%x"}`, i+1, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	large += `,{"day":"mon","id":900,"v":"c"}]`
	for name, c := range map[string]struct {
		options              []string
		flushed, between, up string // files of level 0, 4 and 5
		changes              string // files of the changelog of a flush
	}{
		"none for any": {
			flushed: "parquet ZSTD 0..900 a..c", between: "parquet ZSTD 1..2 d..e", up: "parquet ZSTD 0..900 a..e",
		},
		"each for itself": {
			options: []string{
				"file.format.per.level", "0:avro", "file.compression", "gzip", "file.compression.per.level", "0:snappy,5:none",
				"metadata.stats-mode", "counts", "metadata.stats-mode.per.level", "0:none,5:full",
			},
			flushed: "avro snappy", between: "parquet GZIP nulls", up: "parquet UNCOMPRESSED 0..900 a..e",
		},
		"the other way about": {
			options: []string{
				"file.format", "avro", "file.format.per.level", "0:parquet,4:parquet", "file.compression.per.level", "0:none,4:snappy,5:zstd",
				"metadata.stats-mode.per.level", "0:truncate(1),4:none",
			},
			// Avro keeps no statistics of its own: the values are looked at when they are written.
			flushed: "parquet UNCOMPRESSED 0..900 a..c", between: "parquet SNAPPY", up: "avro zstandard 0..900 a..e",
		},
		"a changelog": {
			options: []string{"changelog-producer", "input", "file.format.per.level", "0:avro", "file.compression.per.level", "0:snappy"},
			flushed: "avro snappy 0..900 a..c", between: "parquet ZSTD 1..2 d..e", up: "parquet ZSTD 0..900 a..e", changes: "avro snappy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			spec := with(keySpec(), append(c.options, "bucket", "1", "write-only", "true", "num-sorted-run.compaction-trigger", "2", "num-levels", "6")...)
			spec.PartitionKeys, spec.PrimaryKeys = nil, []string{"id"}
			fs := f.create(spec)
			tbl := f.open(fs)
			levels := func(when string, want ...string) {
				t.Helper()
				var got []string
				for level := range 6 {
					for _, line := range f.filesOf(fs, level) {
						got = append(got, fmt.Sprint(level, " ", line))
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s:\n  %s\nwant\n  %s", when, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
				}
			}
			f.mustWrite(tbl, large)
			levels("flushed", "0 "+c.flushed)
			f.mustWrite(tbl, large) // one file alone would move as it is
			f.compact(tbl, table.CompactOptions{})
			f.mustWrite(tbl, ids("mon", "d", 1))
			f.mustWrite(tbl, ids("mon", "e", 2))
			f.compact(tbl, table.CompactOptions{Minor: true})
			levels("compacted", "4 "+c.between, "5 "+strings.Replace(c.up, "a..e", "a..c", 1))
			f.compact(tbl, table.CompactOptions{})
			levels("compacted in full", "5 "+c.up)
			var changes []string
			for _, p := range fs.Paths() {
				if strings.HasPrefix(path.Base(p), "changelog-") {
					format, codec := f.encoding(fs, p)
					changes = append(changes, format+" "+codec)
				}
			}
			if (len(changes) > 0) != (c.changes != "") || slices.ContainsFunc(changes, func(s string) bool { return s != c.changes }) {
				t.Errorf("files of the changelog %q, want %q", changes, c.changes)
			}
		})
	}
}

// encoding is what a file is written with.
func (f *fixture) encoding(fs *mem.FS, p string) (format, codec string) {
	f.Helper()
	ending := strings.TrimPrefix(path.Ext(p), ".")
	st, err := fs.Stat(f.ctx, p)
	if err != nil {
		f.Fatal(err)
	}
	by, err := formats.ByName(ending)
	if err != nil {
		f.Fatal(err)
	}
	file, err := by.Open(f.ctx, fs, p, st.Size, memory.DefaultAllocator)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	return ending, strings.Join(file.(interface{ Codecs() []string }).Codecs(), ",")
}

// filesOf are the live files of a level: format, codec, and of the columns id and v the
// least and the greatest value, or that their nulls are counted.
func (f *fixture) filesOf(fs *mem.FS, level int) []string {
	f.Helper()
	sys, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: "files"})
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, row := range f.rows(sys, table.Scan{
		Columns: []string{"file_path", "min_value_stats", "max_value_stats", "null_value_counts"},
		Where:   expr.Compare{Column: "level", Op: expr.Eq, Value: int64(level)},
	}) {
		cells := strings.Split(row, "|")
		format, codec := f.encoding(fs, strings.TrimPrefix(cells[0], "mem:"))
		line := format + " " + codec
		lowest, highest := statsOf(cells[1]), statsOf(cells[2])
		switch {
		case lowest["id"] != "null":
			line += fmt.Sprintf(" %s..%s %s..%s", lowest["id"], highest["id"], lowest["v"], highest["v"])
		case statsOf(cells[3])["id"] != "null":
			line += " nulls"
		}
		out = append(out, line)
	}
	return out
}

// statsOf are the values of a cell like {a=1, b=null}.
func statsOf(cell string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Split(strings.Trim(cell, "{}"), ", ") {
		name, value, _ := strings.Cut(pair, "=")
		out[name] = value
	}
	return out
}
