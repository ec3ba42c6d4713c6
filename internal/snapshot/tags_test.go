package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Tags are read by snapshot and name; one with a life time, as Java writes it, has two
// fields more.
func TestTags(t *testing.T) {
	f := newFixture(t)
	tags := f.store.Tags()
	if all, err := tags.All(f.ctx); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	place := f.store.Layout()
	put := func(name, more string, id int64) {
		s := &Snapshot{Version: 3, ID: id, CommitKind: Append, CommitUser: "u", BaseManifestList: "b", DeltaManifestList: fmt.Sprint("d", id)}
		data := s.Marshal()
		if more != "" {
			data = append(data[:len(data)-2], more...)
		}
		if err := fileio.WriteFile(f.ctx, f.fio, place.TagFile(name), data); err != nil {
			t.Fatal(err)
		}
	}
	put("z", "", 3)
	put("2026-12-01", ",\n  \"tagCreateTime\" : [ 2026, 12, 1, 10, 0, 0, 123000000 ],\n  \"tagTimeRetained\" : 3600.000000000\n}", 7)
	put("a b", "", 7)
	if err := fileio.WriteFile(f.ctx, f.fio, place.TagDir()+"/tag-success-file/z_SUCCESS", []byte("x")); err != nil {
		t.Fatal(err)
	}
	all, err := tags.All(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tag := range all {
		got = append(got, fmt.Sprint(tag.ID, " ", tag.Name, " ", tag.DeltaManifestList))
	}
	if want := []string{"3 z d3", "7 2026-12-01 d7", "7 a b d7"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s, err := tags.Get(f.ctx, "none"); s != nil || err != nil {
		t.Errorf("no such tag: %v, %v", s, err)
	}
	if branch := f.store.OfBranch("b"); branch.Layout() != place.WithBranch("b") {
		t.Errorf("branch at %+v", branch.Layout())
	}
	if err := fileio.WriteFile(f.ctx, f.fio, layout.Table{Dir: place.Dir, Branch: "b"}.TagFile("bad"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.OfBranch("b").Tags().All(f.ctx); tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Errorf("a tag that does not parse: %v", err)
	}
}

// A changelog is a snapshot's file without the fields that Java's has not, and has
// hints of its own.
func TestWriteChangelog(t *testing.T) {
	f := newFixture(t)
	u := "x"
	s := &Snapshot{Version: 3, UUID: &u, ID: 4, CommitKind: Append, CommitUser: "u", Operation: &u, WriterVersion: &u, Properties: map[string]string{"k": "v"}}
	if err := f.store.WriteChangelog(f.ctx, s); err != nil {
		t.Fatal(err)
	}
	c, err := f.store.Changelog(f.ctx, 4)
	if err != nil || c.UUID != nil || c.Operation != nil || c.WriterVersion != nil || c.Properties["k"] != "v" || s.UUID == nil {
		t.Errorf("%+v, %v", c, err)
	}
	if ids, err := f.store.ChangelogIDs(f.ctx); err != nil || !slices.Equal(ids, []int64{4}) {
		t.Errorf("%v, %v", ids, err)
	}
	if has, err := f.store.HasChangelogEarliestHint(f.ctx); has || err != nil {
		t.Error(has, err)
	}
	if err := f.store.WriteChangelogLatestHint(f.ctx, 4); err != nil {
		t.Fatal(err)
	}
	if err := f.store.WriteChangelogEarliestHint(f.ctx, 2); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"/LATEST": "4", "/EARLIEST": "2"} {
		data, err := fileio.ReadFile(f.ctx, f.fio, f.store.Layout().ChangelogDir()+file)
		if string(data) != want || err != nil {
			t.Errorf("%s: %q, %v", file, data, err)
		}
	}
	if has, err := f.store.HasChangelogEarliestHint(f.ctx); !has || err != nil {
		t.Error(has, err)
	}
	if has, err := f.store.HasEarliestHint(f.ctx); has || err != nil {
		t.Error(has, err)
	}
}
