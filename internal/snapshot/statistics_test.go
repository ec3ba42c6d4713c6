package snapshot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/tarnerr"
)

// A statistics file of Java 1.4.2, its columns put in order.
const javaStatistics = `{
  "snapshotId" : 5,
  "schemaId" : 0,
  "mergedRecordCount" : 11,
  "mergedRecordSize" : 1234,
  "colStats" : {
    "k" : {
      "colId" : 1,
      "distinctCount" : 11,
      "min" : "0",
      "max" : "18",
      "nullCount" : 0,
      "avgLen" : 4,
      "maxLen" : 4
    },
    "v" : {
      "colId" : 2,
      "distinctCount" : 11,
      "min" : "1.0",
      "max" : "100.0",
      "nullCount" : 0
    }
  }
}`

func TestStatisticsOfJava(t *testing.T) {
	s, err := ParseStatistics([]byte(javaStatistics))
	if err != nil {
		t.Fatal(err)
	}
	if s.SnapshotID != 5 || *s.MergedRows != 11 || *s.Columns["k"].Max != "18" || s.Columns["v"].AvgLen != nil {
		t.Errorf("%+v", s)
	}
	if d := cmp.Diff(strings.Split(javaStatistics, "\n"), strings.Split(string(s.Marshal()), "\n")); d != "" {
		t.Error(d)
	}
	empty := &Statistics{SnapshotID: 1}
	const want = "{\n  \"snapshotId\" : 1,\n  \"schemaId\" : 0,\n  \"colStats\" : { }\n}"
	if got := string(empty.Marshal()); got != want {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"", "{", "[]", `{"snapshotId":1}`, `{"snapshotId":"x","schemaId":0}`, `{"snapshotId":1,"schemaId":0,"colStats":[]}`} {
		if _, err := ParseStatistics([]byte(text)); tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseStatistics(f *testing.F) {
	f.Add([]byte(javaStatistics))
	f.Add([]byte(`{"snapshotId":1,"schemaId":0,"colStats":{"é\n":{"colId":0,"min":"\u0000"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStatistics(data)
		if err != nil {
			return
		}
		again, err := ParseStatistics(s.Marshal())
		if err != nil {
			t.Fatalf("our own bytes: %v", err)
		}
		if d := cmp.Diff(string(s.Marshal()), string(again.Marshal())); d != "" {
			t.Error(d)
		}
	})
}
