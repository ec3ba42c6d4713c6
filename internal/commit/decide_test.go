package commit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestDecisions runs the pure decisions of a commit on text, without any storage:
// how messages become snapshots, what is refused, how long to wait.
func TestDecisions(t *testing.T) {
	datadriven.Walk(t, "testdata/decide", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "changes":
				buckets := 1
				d.MaybeScanArgs(t, "buckets", &buckets)
				written, compacted := changesOf(parseMessages(t, d.Input), int32(buckets))
				return show(written) + show(compacted)
			case "waits":
				return waits(t, d)
			case "identity":
				return identities(t, d)
			case "index":
				return combined(t, d)
			case "time":
				return times(t, d)
			}
			t.Fatalf("no such command: %s", d.Cmd)
			return ""
		})
	})
}

// parseMessages reads a message per line: `partition bucket [of N] part:file …`.
func parseMessages(t *testing.T, in string) []*commitmsg.Message {
	t.Helper()
	var out []*commitmsg.Message
	for _, line := range strings.Split(strings.TrimSpace(in), "\n") {
		words := strings.Fields(line)
		bucket, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		m := &commitmsg.Message{Partition: partition(t, words[0]), Bucket: int32(bucket)}
		words = words[2:]
		if len(words) > 1 && words[0] == "of" {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			total := int32(n)
			m.TotalBuckets, words = &total, words[2:]
		}
		for _, w := range words {
			part, name, _ := strings.Cut(w, ":")
			name, level, _ := strings.Cut(name, "@")
			f := &datafile.Meta{FileName: name, RowCount: 10, FileSize: 100}
			if n, err := strconv.Atoi(level); err == nil {
				f.Level = int32(n)
			}
			index := manifest.IndexEntry{FileName: name, IndexType: "HASH"}
			if strings.HasPrefix(name, "dv") {
				index.IndexType = deletionVectors
			}
			switch part {
			case "new":
				m.NewFiles = append(m.NewFiles, f)
			case "deleted":
				m.DeletedFiles = append(m.DeletedFiles, f)
			case "changelog":
				m.ChangelogFiles = append(m.ChangelogFiles, f)
			case "index":
				m.NewIndex = append(m.NewIndex, index)
			case "before":
				m.CompactBefore = append(m.CompactBefore, f)
			case "after":
				m.CompactAfter = append(m.CompactAfter, f)
			default:
				t.Fatalf("no such part: %s", part)
			}
		}
		out = append(out, m)
	}
	return out
}

func partition(t *testing.T, name string) binaryrow.Row {
	t.Helper()
	r, err := binaryrow.Encode([]types.Type{{Root: types.VarChar, Length: types.MaxLength}}, []types.Value{name})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func show(c change) string {
	if c.empty() {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s records=%d\n", c.kind, c.records())
	for _, e := range c.files {
		fmt.Fprintf(&b, "  %s bucket %d of %d %s\n", e.Kind, e.Bucket, e.TotalBuckets, e.File.FileName)
	}
	for _, e := range c.changelog {
		fmt.Fprintf(&b, "  changelog %s\n", e.File.FileName)
	}
	for _, e := range c.index {
		fmt.Fprintf(&b, "  %s index %s\n", e.Kind, e.FileName)
	}
	if err := c.check(); err != nil {
		fmt.Fprintf(&b, "  refused: %v: %v\n", tarnerr.KindOf(err), err)
	}
	return b.String()
}

// waits lists the shortest and longest pause before each retry, until the limits end it.
func waits(t *testing.T, d *datadriven.TestData) string {
	r := DefaultRetry()
	duration := func(key string, to *time.Duration) {
		if !d.HasArg(key) {
			return
		}
		var s string
		d.ScanArgs(t, key, &s)
		v, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		*to = v
	}
	d.MaybeScanArgs(t, "retries", &r.MaxRetries)
	duration("timeout", &r.Timeout)
	duration("min", &r.MinWait)
	duration("max", &r.MaxWait)
	var b strings.Builder
	var elapsed time.Duration
	for n := 0; r.again(n, elapsed); n++ {
		if n == 12 {
			return b.String() + "and so on\n"
		}
		lo, hi := r.wait(n, 0), r.wait(n, 1)
		fmt.Fprintf(&b, "%v to %v\n", lo, hi)
		elapsed += lo
	}
	return b.String() + "over\n"
}

// identities tells which snapshots, one per line, are of the commit named by the arguments.
func identities(t *testing.T, d *datadriven.TestData) string {
	id := identity{identifier: 7, kind: snapshot.Append}
	d.ScanArgs(t, "user", &id.user)
	var delta string
	d.ScanArgs(t, "delta", &delta)
	id.deltas = strings.Split(delta, "+")
	batch := d.HasArg("batch")
	if batch {
		id.identifier = snapshot.BatchIdentifier
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		w := strings.Fields(line)
		s := &snapshot.Snapshot{CommitUser: w[0], CommitKind: snapshot.CommitKind(w[2]), DeltaManifestList: w[3]}
		s.CommitIdentifier, _ = strconv.ParseInt(w[1], 10, 64)
		if w[1] == "batch" {
			s.CommitIdentifier = snapshot.BatchIdentifier
		}
		fmt.Fprintf(&b, "%v\n", id.matches(s))
	}
	return b.String()
}

// combined applies changes to the index files of a table, one a line: + or -, type,
// name, bucket, and for deletion vectors the files they are of, for global indexes
// column and rows. Lines before an empty one are what was there.
func combined(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var lists [2][]manifest.IndexEntry
	at := 0
	for _, line := range strings.Split(strings.TrimRight(d.Input, "\n"), "\n") {
		w := strings.Fields(line)
		if len(w) == 0 || w[0] == "then" {
			at = 1
			continue
		}
		e := manifest.IndexEntry{IndexType: w[1], FileName: w[2], Partition: binaryrow.Empty}
		if w[0] == "-" {
			e.Kind = manifest.Delete
		}
		n, err := strconv.Atoi(w[3])
		if err != nil {
			t.Fatal(err)
		}
		e.Bucket = int32(n)
		switch e.IndexType {
		case hashIndex:
		case deletionVectors:
			for _, f := range w[4:] {
				e.Vectors = append(e.Vectors, manifest.VectorRange{DataFile: f})
			}
		default:
			e.Global = &manifest.GlobalIndex{}
			if _, err := fmt.Sscanf(strings.Join(w[4:], " "), "%d %d %d", &e.Global.FieldID, &e.Global.RowRangeStart, &e.Global.RowRangeEnd); err != nil {
				t.Fatal(err)
			}
		}
		lists[at] = append(lists[at], e)
	}
	out, c := combineIndex(lists[0], lists[1], d.HasArg("unaware"))
	if c != nil {
		return fmt.Sprintf("%s: %s: %s\n", c.check, c.what, strings.Join(c.files, ", "))
	}
	var b strings.Builder
	for _, e := range out {
		fmt.Fprintf(&b, "%s %s %d\n", e.IndexType, e.FileName, e.Bucket)
	}
	return b.String()
}

// times reads the time of partitions: their values, one partition a line.
func times(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var pattern, formatter string
	d.MaybeScanArgs(t, "pattern", &pattern)
	d.MaybeScanArgs(t, "formatter", &formatter)
	pattern, formatter = strings.ReplaceAll(pattern, "_", " "), strings.ReplaceAll(formatter, "_", " ")
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimRight(d.Input, "\n"), "\n") {
		var values []layout.PartitionField
		for i, v := range strings.Split(line, ",") {
			values = append(values, layout.PartitionField{Name: []string{"dt", "dt1", "hour"}[i], Value: v})
		}
		if at, ok := partitionTime(values, pattern, formatter); ok {
			b.WriteString(at.Format("2006-01-02 15:04:05") + "\n")
		} else {
			b.WriteString("no time\n")
		}
	}
	return b.String()
}
