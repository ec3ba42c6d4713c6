package maintain

// Limits say which snapshots, or which decoupled changelogs, may go. Source:
// ExpireSnapshotsImpl and ExpireChangelogImpl of Java, whose arithmetic this is.
type Limits struct {
	Earliest int64 // the oldest there is
	Latest   int64 // the newest snapshot
	Min, Max int   // num-retained
	Most     int   // snapshot.expire.limit
	Before   int64 // only those made before, milliseconds since 1970
}

// Kinds of Hold.By.
const (
	ByConsumer = "consumer"
	ByCommit   = "commit"
	ByLimit    = "expire-limit"
)

// Hold keeps ids from one on.
type Hold struct {
	By   string
	Name string
	From int64 // the first id it keeps
}

// Until decides what goes: the ids from l.Earliest up to end, which stays. held are
// the holds without which more would have gone, each with the first id it keeps of
// those that there are. millis tells when an id was made, false for one that is gone.
func Until(l Limits, holds []Hold, millis func(id int64) (int64, bool, error)) (end int64, held []Hold, err error) {
	crowded := max(l.Latest-int64(l.Max)+1, l.Earliest) // below it, age does not matter
	most := l.Latest - int64(l.Min) + 1
	limit := Hold{By: ByLimit, From: l.Earliest + int64(l.Most)}
	bound := min(most, limit.From)
	for _, h := range holds {
		bound = min(bound, h.From)
	}
	young := func(id int64) (bool, error) {
		t, ok, err := millis(id)
		return ok && l.Before <= t, err
	}
	for id := crowded; id < bound; id++ {
		stop, err := young(id)
		if err != nil {
			return 0, nil, err
		}
		if stop {
			return max(id, l.Earliest), nil, nil
		}
	}
	end = max(bound, l.Earliest)
	if limit.From <= end {
		holds = append(holds[:len(holds):len(holds)], limit)
	}
	for _, h := range holds {
		h.From = max(h.From, l.Earliest)
		if h.From >= most {
			continue
		}
		if h.From >= crowded {
			stays, err := young(h.From)
			if err != nil {
				return 0, nil, err
			}
			if stays {
				continue
			}
		}
		held = append(held, h)
	}
	return end, held, nil
}
