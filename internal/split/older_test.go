package split

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Splits that releases 0.8 to 1.3 planned.
func TestSplitsOfOlderReleases(t *testing.T) {
	data, err := os.ReadFile("testdata/older.txt")
	if err != nil {
		t.Fatal(err)
	}
	releases, deletions := map[string]bool{}, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		cols := strings.Split(line, "\t")
		bytes, err := hex.DecodeString(cols[3])
		if err != nil {
			t.Fatal(err)
		}
		var s Split
		if err := s.UnmarshalBinary(bytes); err != nil {
			t.Errorf("%s: %v", cols[0], err)
			continue
		}
		releases[cols[0]] = true
		var files []string
		for _, f := range s.Files {
			files = append(files, fmt.Sprintf("%s:%d:%d:%d:%d", f.FileName, f.RowCount, f.SchemaID, f.Level, f.MaxSequence))
		}
		if got := fmt.Sprintf("%d|%s", s.Bucket, strings.Join(files, ",")); got != cols[4] {
			t.Errorf("%s: %s, want %s", cols[0], got, cols[4])
		}
		if !strings.HasSuffix(s.BucketPath, fmt.Sprintf("/db.db/t/p=a/bucket-%d", s.Bucket)) || s.SnapshotID < 3 {
			t.Errorf("%s: bucket path %q of snapshot %d", cols[0], s.BucketPath, s.SnapshotID)
		}
		for _, d := range s.Deletions {
			if d == nil {
				continue
			}
			deletions++
			if !strings.Contains(d.Path, "/db.db/t/index/index-") || d.Length == 0 {
				t.Errorf("%s: deletion file %+v", cols[0], d)
			}
		}
	}
	if len(releases) != 6 || deletions < 6 {
		t.Errorf("splits of %d releases with %d deletion files", len(releases), deletions)
	}
}
