package schema

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Every schema file of every golden table is read; those that Java of the
// current format wrote come out byte for byte.
func TestGoldenSchemas(t *testing.T) {
	set := golden.Open(t)
	exact, shared := 0, 0
	for _, name := range set.Names() {
		tb := set.Table(t, name)
		for e, err := range fileio.All(t.Context(), tb.FileIO, tb.Path(), fileio.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(path.Base(e.Path), "schema-") {
				continue
			}
			data, err := fileio.ReadFile(t.Context(), tb.FileIO, e.Path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(data)
			if err != nil {
				t.Errorf("%s: %v", e.Path, err)
				continue
			}
			again, err := Parse(s.JSON())
			if err != nil {
				t.Errorf("%s: written and read again: %v", e.Path, err)
			} else if d := cmp.Diff(s, again); d != "" {
				t.Errorf("%s: written and read again:\n%s", e.Path, d)
			}
			if s.Version < Version || strings.HasPrefix(name, "py-") {
				continue
			}
			want, have := strings.Split(string(data), "\n"), strings.Split(string(s.JSON()), "\n")
			switch {
			case slices.Equal(want, have):
				exact++
			case sharedBin(s.Options) && slices.Equal(sortedLines(want), sortedLines(have)):
				shared++
			default:
				t.Errorf("%s (-Java +Tarn):\n%s", e.Path, cmp.Diff(want, have))
			}
		}
	}
	if exact < 150 || shared > exact/5 {
		t.Errorf("%d files byte for byte, %d but for the order of options in one hash bin", exact, shared)
	}
}

func TestParseOldVersions(t *testing.T) {
	const body = `"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{`
	for _, c := range []struct {
		json string
		want map[string]string
	}{
		{`{` + body + `}}`, map[string]string{"bucket": "1", "file.format": "orc"}},
		{`{"version":1,` + body + `"bucket":"4","file.format":"avro"}}`, map[string]string{"bucket": "4", "file.format": "avro"}},
		{`{"version":2,` + body + `}}`, map[string]string{"file.format": "orc"}},
		{`{"version":3,` + body + `"n":7,"b":true,"x":null},"comment":null,"unknown":[1]}`, map[string]string{"n": "7", "b": "true", "x": "null"}},
	} {
		s, err := Parse([]byte(c.json))
		if err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		if d := cmp.Diff(c.want, s.Options); d != "" || s.TimeMillis != 0 || s.Comment != nil {
			t.Errorf("%s:\n%s", c.json, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for json, want := range map[string]tarnerr.Kind{
		``:   tarnerr.Corrupt,
		`[]`: tarnerr.Corrupt,
		`{}`: tarnerr.Corrupt,
		`{"id":0,"fields":[],"highestFieldId":0,"options":{}`:                                                                                        tarnerr.Corrupt,
		`{"version":4,"id":0,"fields":[],"highestFieldId":0,"options":{}}`:                                                                           tarnerr.Unsupported,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"primaryKeys":["b"]}`:                                    tarnerr.Corrupt,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}],"highestFieldId":0}`:                       tarnerr.Corrupt,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}],"highestFieldId":1,"partitionKeys":["a"]}`: tarnerr.Corrupt,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INTT"}],"highestFieldId":0}`:                                                       tarnerr.Corrupt,
	} {
		if _, err := Parse([]byte(json)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want kind %v", json, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	s, err := NewSchema(Spec{
		Fields: []types.Field{
			{Name: "a", Type: types.MustParse("INT")},
			{Name: "r", Type: types.MustParse("ROW<x INT, y MAP<STRING, ARRAY<DATE>>>")},
		},
		PrimaryKeys: []string{"a"}, Options: map[string]string{"bucket": "2", "x": "\"\\\u0001é\U0001F600"}, Comment: "c",
	}, 7)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.JSON())
	f.Add([]byte(`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"options":{"a":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse(s.JSON())
		if err != nil {
			t.Fatalf("%s\n-> %s\n-> %v", data, s.JSON(), err)
		}
		if string(again.JSON()) != string(s.JSON()) {
			t.Fatalf("%s\n-> %s\n-> %s", data, s.JSON(), again.JSON())
		}
		s.Validate() // may refuse, must not panic
	})
}
