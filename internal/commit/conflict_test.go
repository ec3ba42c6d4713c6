package commit

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

func keyRow(t *rapid.T, k int) binaryrow.Row {
	r, err := binaryrow.Encode([]types.Type{{Root: types.BigInt}}, []types.Value{int64(k)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawEntry is an entry about one of few files, in one of few places.
func drawEntry(t *rapid.T, kind manifest.Kind) manifest.Entry {
	name := rapid.IntRange(0, 7).Draw(t, "file")
	lo := name * 3
	return manifest.Entry{
		Kind: kind, Partition: binaryrow.Empty, Bucket: int32(name % 2), TotalBuckets: 2,
		File: &datafile.Meta{
			FileName: fmt.Sprint("f", name), Level: int32(rapid.IntRange(0, 2).Draw(t, "level")),
			MinKey: keyRow(t, lo), MaxKey: keyRow(t, lo+rapid.IntRange(0, 12).Draw(t, "width")),
		},
	}
}

// whole says what is wrong with a set of live files, "" for nothing.
func whole(files []manifest.Entry, keys keyOrder) Check {
	for i, a := range files {
		for _, b := range files[i+1:] {
			switch {
			case a.Bucket != b.Bucket || a.File.Level != b.File.Level:
			case a.Identity() == b.Identity():
				return FileAddition
			case a.File.Level > 0 && keys.compare(a.File.MinKey, b.File.MaxKey) <= 0 && keys.compare(b.File.MinKey, a.File.MaxKey) <= 0:
				return KeyRange
			}
		}
	}
	return ""
}

// What find lets pass leaves a whole table, and what it refuses would not have:
// against a model that applies entry by entry.
func TestFindAgainstAModel(t *testing.T) {
	keys := keyOrder{{Root: types.BigInt}}
	passed, refused := 0, map[Check]int{}
	property := func(t *rapid.T) {
		var base []manifest.Entry
		for range rapid.IntRange(0, 6).Draw(t, "base") {
			if e := drawEntry(t, manifest.Add); whole(append(slices.Clone(base), e), keys) == "" {
				base = append(base, e)
			}
		}
		var delta []manifest.Entry
		for range rapid.IntRange(1, 5).Draw(t, "delta") {
			e := drawEntry(t, rapid.SampledFrom([]manifest.Kind{manifest.Add, manifest.Add, manifest.Delete}).Draw(t, "kind"))
			if e.Kind == manifest.Delete && len(base) > 0 && rapid.IntRange(0, 5).Draw(t, "there") > 0 {
				e.File = rapid.SampledFrom(base).Draw(t, "of").File
				e.Bucket = int32((e.File.FileName[1] - '0') % 2)
			}
			delta = append(delta, e)
		}
		// The model.
		live := slices.Clone(base)
		want := Check("")
		pending := map[string]bool{} // deleted before it was added, or never there
		for _, e := range delta {
			at := slices.IndexFunc(live, func(l manifest.Entry) bool { return l.Identity() == e.Identity() })
			switch {
			case e.Kind == manifest.Add && (at >= 0 || pending[e.Identity()]):
				want = FileAddition
			case e.Kind == manifest.Add:
				live = append(live, e)
			case at >= 0:
				live = slices.Delete(live, at, at+1)
			case pending[e.Identity()]:
				delete(pending, e.Identity()) // Java lets the two cancel
			default:
				pending[e.Identity()] = true
			}
			if want != "" {
				break
			}
		}
		if want == "" && len(pending) > 0 {
			want = FileDeletion
		}
		if want == "" {
			want = whole(live, keys)
		}
		s := situation{kind: snapshot.Compact, base: pairedWith(base, nil), delta: pairedWith(delta, nil), keys: keys}
		got := Check("")
		if c := s.find(); c != nil {
			got = c.check
			if len(c.files) == 0 || c.what == "" {
				t.Fatalf("%+v", c)
			}
		}
		if got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if got == "" {
			passed++
		} else {
			refused[got]++
		}
	}
	for range 10 {
		rapid.Check(t, property)
	}
	if passed == 0 || refused[FileDeletion] == 0 || refused[FileAddition] == 0 || refused[KeyRange] == 0 {
		t.Errorf("%d passed, refused %v", passed, refused)
	}
}
