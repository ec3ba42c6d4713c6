package commitmsg

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

func describe(files []*datafile.Meta) string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s:%d:%d:%d:%d", f.FileName, f.RowCount, f.SchemaID, f.Level, f.MaxSequence))
	}
	return strings.Join(out, ",")
}

// Messages that releases 0.8 to 1.3 wrote, in the versions of their serializers.
func TestMessagesOfOlderReleases(t *testing.T) {
	data, err := os.ReadFile("testdata/older.txt")
	if err != nil {
		t.Fatal(err)
	}
	versions, vectors := map[int]int{}, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		cols := strings.Split(line, "\t")
		version, err := strconv.Atoi(cols[2])
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := hex.DecodeString(cols[3])
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(version, bytes)
		if err != nil {
			t.Errorf("%s: %v", cols[0], err)
			continue
		}
		versions[version]++
		got := fmt.Sprintf("%d|%s|%s|%s", m.Bucket, describe(m.NewFiles), describe(m.CompactBefore), describe(m.CompactAfter))
		if got != cols[4] {
			t.Errorf("%s: %s, want %s", cols[0], got, cols[4])
		}
		if p, err := m.Partition.Value(0, types.MustParse("STRING")); err != nil || p != "a" {
			t.Errorf("%s: partition %v %v", cols[0], p, err)
		}
		for _, e := range append(m.NewIndex, m.CompactNewIndex...) {
			// A file of no vectors takes the place of one whose last vector went away.
			if e.IndexType != "DELETION_VECTORS" || e.FileSize == 0 || int64(len(e.Vectors)) != e.RowCount {
				t.Errorf("%s: index file %+v", cols[0], e)
			}
			for _, v := range e.Vectors {
				vectors++
				if !strings.HasPrefix(v.DataFile, "data-") || v.Length == 0 || (version >= 5) != (v.Cardinality != nil) {
					t.Errorf("%s: deletion vector %+v", cols[0], v)
				}
			}
		}
		// Written again, in today's version, it says the same.
		again, err := m.MarshalBinary()
		if err != nil {
			t.Errorf("%s: %v", cols[0], err)
			continue
		}
		back, err := Decode(Version, again)
		if err != nil || describe(back.CompactAfter) != describe(m.CompactAfter) || len(back.CompactNewIndex) != len(m.CompactNewIndex) {
			t.Errorf("%s: in version %d %+v %v", cols[0], Version, back, err)
		}
	}
	for _, v := range []int{2, 3, 6, 7, 10} {
		if versions[v] == 0 {
			t.Errorf("no message of version %d", v)
		}
	}
	if vectors < 5 {
		t.Errorf("only %d deletion vectors", vectors)
	}
}
