package advice

import (
	"fmt"
	"time"
)

const (
	// late is by how much expiry may be behind by age before it counts as not run.
	late = 24 * time.Hour
	// many is how many snapshots are many.
	many = 1000
	// manyTags is how many tags are many: a quarter of daily ones, as Paimon's
	// documentation keeps them. Source: maintenance/manage-tags.
	manyTags = 90
)

// retentionOrder finds bounds of retention that exclude each other.
func retentionOrder(f *Figures) []Advice {
	r := &f.Options.Retention
	var out []Advice
	check := func(prefix string, low, high int) {
		if low <= high {
			return
		}
		out = append(out, Advice{
			Subject: Retention, Severity: Warn, Rule: "retention-order", Where: prefix + ".num-retained.min",
			Figure: int64(low), Limit: int64(high), Unit: "snapshots",
			Text:   fmt.Sprintf("More are to be retained at least than at most (%s.num-retained.max): expiry is refused, here and in Java.", prefix),
			Remedy: f.set(prefix+".num-retained.max", low),
		})
	}
	check("snapshot", r.Min, r.Max)
	if r.ChangelogMin != r.Min || r.ChangelogMax != r.Max {
		check("changelog", r.ChangelogMin, r.ChangelogMax)
	}
	return out
}

// expiryBehind finds snapshots that nobody holds and that are beyond retention for
// long, or are many.
func expiryBehind(f *Figures) []Advice {
	s := f.Snapshots
	n := min(f.due(), f.held()) - s.Earliest
	if n <= 0 {
		return nil
	}
	behind := f.Now.Sub(s.EarliestTime.Add(f.Options.Retention.Time))
	a := Advice{
		Subject: Retention, Rule: "expiry-behind", Where: fmt.Sprintf("snapshot %d", s.Earliest),
		Figure: n, Limit: int64(f.Options.Retention.Limit), Unit: "snapshots",
		Remedy: command("table", "expire", f.Table),
	}
	if n > int64(f.Options.Retention.Limit) {
		a.Severity = severe(n, 10*int64(f.Options.Retention.Limit))
		a.Text = "More snapshots are beyond retention than one expiry takes (snapshot.expire.limit)"
		if behind >= time.Minute {
			a.Text += ", the first for " + age(behind)
		}
		a.Text += ": their files are kept for nobody. Run it until nothing is left, and then regularly."
		return []Advice{a}
	}
	if behind <= late {
		return nil
	}
	a.Severity = severe(int64(behind), int64(7*late))
	a.Figure, a.Limit, a.Unit = int64(behind.Seconds()), int64(late.Seconds()), Seconds
	a.Text = fmt.Sprintf("The oldest of %s beyond retention should have expired so long ago: nobody expires this table.", countOf(n, "snapshot"))
	return []Advice{a}
}

// consumersHold finds readers that have not gone on for long, so that snapshots
// beyond retention stay for them.
func consumersHold(f *Figures) []Advice {
	if f.Options.Retention.ChangelogOnly {
		return nil
	}
	var out []Advice
	due := f.due()
	for _, c := range f.Consumers {
		from := max(c.Next, f.Snapshots.Earliest)
		if c.NextTime.IsZero() || from >= due {
			continue
		}
		behind := f.Now.Sub(c.NextTime.Add(f.Options.Retention.Time))
		if behind <= late {
			continue
		}
		out = append(out, Advice{
			Subject: Retention, Severity: severe(int64(behind), int64(7*late)), Rule: "consumer-holds", Where: "consumer " + c.ID,
			Figure: int64(behind.Seconds()), Limit: int64(late.Seconds()), Unit: Seconds,
			Text: fmt.Sprintf("The consumer reads snapshot %d next, which is beyond retention for so long, and so %s stay for it. If nobody reads under that name any more, delete it; consumer.expiration-time does so by itself.",
				c.Next, countOf(due-from, "snapshot")),
			Remedy: command("consumer", "delete", f.Table, c.ID),
		})
	}
	return out
}

// consumersLost finds readers whose next changes have expired.
func consumersLost(f *Figures) []Advice {
	var out []Advice
	for _, c := range f.Consumers {
		if f.Snapshots.EarliestChange == 0 || c.Next >= f.Snapshots.EarliestChange {
			continue
		}
		out = append(out, Advice{
			Subject: Changelog, Severity: Warn, Rule: "consumer-lost", Where: "consumer " + c.ID,
			Figure: f.Snapshots.EarliestChange - c.Next, Limit: 0, Unit: "snapshots",
			Text:   "The changes of so many snapshots that the consumer reads next have expired: it cannot go on without a gap. Its reader begins anew with the rows of the table, or goes on behind the gap.",
			Remedy: command("consumer", "reset", f.Table, c.ID, fmt.Sprint(f.Snapshots.EarliestChange)),
		})
	}
	return out
}

// manySnapshots finds a history that retention keeps long.
func manySnapshots(f *Figures) []Advice {
	s := f.Snapshots
	if s.Latest == 0 {
		return nil
	}
	// What is due is told by other rules.
	n := s.Latest - max(f.due(), s.Earliest) + 1
	if n <= many {
		return nil
	}
	return []Advice{{
		Subject: Retention, Severity: Note, Rule: "many-snapshots", Where: fmt.Sprintf("snapshots %d to %d", s.Latest-n+1, s.Latest),
		Figure: n, Limit: many, Unit: "snapshots",
		Text:   "Retention keeps so many snapshots, with every file that any of them has, and what looks through the history reads them one by one. Commit less often, or keep fewer.",
		Remedy: f.set("snapshot.num-retained.max", max(many, f.Options.Retention.Min)),
	}}
}

// endlessTags finds tags that are made by themselves and never go.
func endlessTags(f *Figures) []Advice {
	if f.EndlessTags <= manyTags {
		return nil
	}
	return []Advice{{
		Subject: Retention, Severity: Note, Rule: "endless-tags", Where: "tag.automatic-creation",
		Figure: int64(f.EndlessTags), Limit: manyTags, Unit: "tags",
		Text:   "Tags are made by themselves, each keeps all files of its snapshot, and neither tag.num-retained-max nor tag.default-time-retained lets one go.",
		Remedy: f.set("tag.num-retained-max", manyTags),
	}}
}

func countOf(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
