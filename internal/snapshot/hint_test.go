package snapshot

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// FuzzHints: whatever the hints hold, the latest snapshot is found, in few calls, and
// an earliest that is there.
func FuzzHints(f *testing.F) {
	for _, hint := range []string{"", "5", "7", "3", "2", "1", "0", "-1", "8", "x", "5\n", " 5", "+5", "5.0", "0x5", "5\x00", "\xff",
		strconv.FormatInt(math.MaxInt64, 10), strconv.FormatInt(math.MinInt64, 10), "9223372036854775808", "99999999999999999999999"} {
		f.Add([]byte(hint), []byte(hint))
	}
	f.Fuzz(func(t *testing.T, latest, earliest []byte) {
		x := newFixture(t, 3, 4, 5, 6, 7)
		x.write(t, x.table.LatestHint(), string(latest))
		x.write(t, x.table.EarliestHint(), string(earliest))
		counter := layer.Count(x.fio)
		store := func() *Store { // one that has seen nothing
			counter.Reset()
			return NewStore(counter, x.table).WithEnv(env.Seeded(1, time.Unix(0, 0)))
		}
		if id, err := store().LatestID(x.ctx); err != nil || id != 7 || counter.Total() > 12 {
			t.Errorf("latest id %d, %v, after %d calls", id, err, counter.Total())
		}
		if s, err := store().Latest(x.ctx); err != nil || s == nil || s.ID != 7 || counter.Total() > 12 {
			t.Errorf("latest %+v, %v, after %d calls", s, err, counter.Total())
		}
		id, err := store().EarliestID(x.ctx)
		if err != nil || id < 3 || id > 7 || counter.Total() > 4 {
			t.Errorf("earliest id %d, %v, after %d calls", id, err, counter.Total())
		}
		if s, err := store().Earliest(x.ctx); err != nil || s == nil || s.ID != id || counter.Total() > 4 {
			t.Errorf("earliest %+v, %v, after %d calls", s, err, counter.Total())
		}
		if _, err := store().Get(x.ctx, 2); tarnerr.KindOf(err) != tarnerr.Expired {
			t.Errorf("snapshot 2: %v", err)
		}
		if _, err := store().Get(x.ctx, 8); tarnerr.KindOf(err) != tarnerr.NotFound {
			t.Errorf("snapshot 8: %v", err)
		}
	})
}
