package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// halfway is the commit whose snapshot is looked at.
const halfway = commits / 2

// timeTravel reads the flights as they were known halfway through the stream,
// and checks that against the events that had arrived by then.
func timeTravel(ctx context.Context, t *tour) error {
	fmt.Println("\n5. Time travel: what was known before all events were there")
	snapshots, err := t.sql.run(ctx, "A snapshot for each commit. Some of them, and the rows in their files, not merged:", fmt.Sprintf(`
SELECT snapshot_id, commit_identifier AS commit, commit_time, delta_record_count AS added, total_record_count AS total
FROM flights$snapshots
WHERE commit_kind = 'APPEND' AND commit_identifier IN (1, %d, %d)
ORDER BY snapshot_id`, halfway, commits))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(snapshots, func(s []string) bool { return s[1] == strconv.Itoa(halfway) })
	if len(snapshots) != 3 || at < 0 {
		return errors.New("the table has not one snapshot for each commit")
	}
	version := snapshots[at][0]
	early, late := board(t.events[:arrived(t.events, halfway)]), board(t.events)

	const evening = `
WHERE day = DATE '2013-01-16' AND origin = 'EWR' AND sched_dep_time BETWEEN 1900 AND 1905
ORDER BY due, flight`
	const columns = "SELECT sched_dep_time AS due, carrier || flight AS flight, dest, status, dep_delay"
	for _, b := range []struct {
		why, from string
		known     map[flightKey][]any
	}{
		{"The board at Newark on an evening, as known after commit " + strconv.Itoa(halfway) + ":", "flights AT (VERSION => " + version + ")", early},
		{"The same in the end:", "flights", late},
	} {
		got, err := t.sql.run(ctx, b.why, columns+"\nFROM "+b.from+evening)
		if err != nil {
			return err
		}
		if err := check(got, eveningOf(b.known)); err != nil {
			return err
		}
	}

	got, err := t.sql.run(ctx, "Both snapshots in one query: what became of every flight of the month?", `
SELECT coalesce(early.status, 'UNKNOWN') AS was, final.status AS became, count(*) AS flights
FROM flights AS final LEFT JOIN flights AS early AT (VERSION => `+version+`) USING (day, carrier, flight, origin)
GROUP BY ALL ORDER BY ALL`)
	if err != nil {
		return err
	}
	if err := check(got, changes(early, late)); err != nil {
		return err
	}
	fmt.Println("\n   Boards and counts equal those computed from the events that had arrived by then.")
	return nil
}
