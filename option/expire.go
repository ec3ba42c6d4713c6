package option

import (
	"time"

	"github.com/tarnlake/tarn/tarnerr"
)

// RecordExpire says which rows of a key table compactions leave out: those whose time
// lies further back than After.
type RecordExpire struct {
	Set   bool
	After time.Duration // whole seconds count
	Field string        // the column of a row's time
}

func (r *reader) recordExpire() RecordExpire {
	_, set := byName["record-level.expire-time"].Get(r.options)
	return RecordExpire{Set: set, After: r.duration("record-level.expire-time"), Field: r.text("record-level.time-field")}
}

// checkExpire refuses an expiry that does not say by which column, as Java does when
// a table is written to.
func checkExpire(options map[string]string, t Table, write bool) error {
	r := reader{options: options}
	if e := r.recordExpire(); write && t.PrimaryKey && e.Set && e.Field == "" {
		return tarnerr.New(tarnerr.Invalid, "checking options for a write", "rows expire, but no column says how old they are",
			"option", "record-level.expire-time").
			WithHint("Set record-level.time-field, or unset record-level.expire-time.")
	}
	return nil
}
