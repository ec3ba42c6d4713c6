package option

import "time"

// Retention says how long snapshots and their changelogs are kept. Source:
// CoreOptions.expireConfig of Java.
type Retention struct {
	Min, Max int           // snapshot.num-retained.min and max
	Time     time.Duration // snapshot.time-retained
	Limit    int           // snapshot.expire.limit: most that expire at a time
	// Those of decoupled changelogs: the snapshots' where the table sets none.
	ChangelogMin, ChangelogMax int
	ChangelogTime              time.Duration
	// Consumers hold changelogs alone, and no snapshots.
	ChangelogOnly    bool
	CleanDirectories bool // empty directories go with the last file
}

// Decoupled says that changelogs outlive their snapshots.
func (r *Retention) Decoupled() bool {
	return r.ChangelogMin > r.Min || r.ChangelogMax > r.Max || r.ChangelogTime > r.Time
}

func (r *reader) retention() Retention {
	out := Retention{
		Min: r.int("snapshot.num-retained.min"), Max: r.int("snapshot.num-retained.max"), Time: r.duration("snapshot.time-retained"),
		Limit: r.int("snapshot.expire.limit"), CleanDirectories: r.bool("snapshot.clean-empty-directories"),
	}
	out.ChangelogMin, out.ChangelogMax, out.ChangelogTime = out.Min, out.Max, out.Time
	if r.set("changelog.num-retained.min") {
		out.ChangelogMin = r.int("changelog.num-retained.min")
	}
	if r.set("changelog.num-retained.max") {
		out.ChangelogMax = r.int("changelog.num-retained.max")
	}
	if r.set("changelog.time-retained") {
		out.ChangelogTime = r.duration("changelog.time-retained")
	}
	out.ChangelogOnly = r.bool("consumer.changelog-only") && out.Decoupled()
	return out
}
