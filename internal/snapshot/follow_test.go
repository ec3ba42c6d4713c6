package snapshot

import (
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

// What comes next is to come, kept as a changelog, gone, or never was.
func TestMissing(t *testing.T) {
	f := newFixture(t, 4, 5)
	f.write(t, f.table.ChangelogFile(3), string(snapshotOf(3).Marshal()))
	for next, want := range map[int64]tarnerr.Kind{2: tarnerr.Expired, 7: tarnerr.NotFound, 50: tarnerr.NotFound} {
		if _, err := f.store.Missing(f.ctx, next); tarnerr.KindOf(err) != want || err == nil {
			t.Errorf("%d: %v, want %v", next, err, want)
		}
	}
	if s, err := f.store.Missing(f.ctx, 3); err != nil || s == nil || s.ID != 3 {
		t.Errorf("a changelog: %v, %v", s, err)
	}
	if s, err := f.store.Missing(f.ctx, 6); err != nil || s != nil {
		t.Errorf("what is to come: %v, %v", s, err)
	}
	if s, err := f.store.Missing(f.ctx, 5); err != nil || s == nil || s.ID != 5 { // it came meanwhile
		t.Errorf("what has come: %v, %v", s, err)
	}
	if id, err := f.store.EarliestChange(f.ctx); err != nil || id != 3 {
		t.Errorf("earliest change %d, %v", id, err)
	}
	f.write(t, f.table.ChangelogFile(3), string(snapshotOf(2).Marshal()))
	if _, err := f.store.Changelog(f.ctx, 3); tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Errorf("a changelog of another id: %v", err)
	}
}

func TestFirstSince(t *testing.T) {
	f := newFixture(t)
	if id, err := f.store.FirstSince(f.ctx, 0); err != nil || id != 0 {
		t.Errorf("no snapshot: %d, %v", id, err)
	}
	for id := int64(2); id <= 9; id++ {
		s := snapshotOf(id)
		s.TimeMillis = id * 10
		file := f.table.SnapshotFile(id)
		if id < 5 {
			file = f.table.ChangelogFile(id)
		}
		f.write(t, file, string(s.Marshal()))
	}
	for millis, want := range map[int64]int64{0: 2, 20: 2, 21: 3, 40: 4, 41: 5, 90: 9, 91: 10} {
		if id, err := f.store.FirstSince(f.ctx, millis); err != nil || id != want {
			t.Errorf("since %d: %d, %v, want %d", millis, id, err, want)
		}
	}
}
