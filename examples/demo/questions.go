package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/tarnlake/tarn/table"
)

// files are the tables that flights are joined with.
var files = []struct{ table, file, create string }{
	{"planes", "planes.parquet", `
CREATE TABLE planes (
  tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING,
  engines INT, seats INT, speed INT, engine STRING,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket' = '1')`},
	{"airports", "airports.parquet", `
CREATE TABLE airports (
  faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING,
  PRIMARY KEY (faa) NOT ENFORCED
) WITH ('bucket' = '1')`},
}

// questions joins the flights with planes and airports, and answers each
// question a second time from the files.
func questions(ctx context.Context, t *tour) error {
	fmt.Println("\n4. Questions about the flights of part 2, with the planes and airports of the same source")
	if _, err := t.sql.run(ctx, "The flights are in this database already.", "USE air"); err != nil {
		return err
	}
	sources := map[string]*source{}
	for _, f := range files {
		s, err := importFile(ctx, t, f.table, f.file, f.create)
		if err != nil {
			return err
		}
		sources[f.table] = s
	}
	planes, airports := sources["planes"], sources["airports"]
	for _, q := range []struct {
		why, sql string
		answer   [][]string
	}{
		{"Whose planes land latest? Flights by planes that the list does not have are left out.", `
SELECT p.manufacturer, count(f.arr_delay) AS landings, round(avg(f.arr_delay), 1) AS minutes_late
FROM flights f JOIN planes p ON f.tailnum = p.tailnum
GROUP BY ALL HAVING landings >= 500
ORDER BY minutes_late DESC, p.manufacturer`, latestMakers(t.flights, planes)},
		{"Where do people wait longest for those who come from New York?", `
SELECT a.faa, a.name AS destination, count(f.arr_delay) AS landings, round(avg(f.arr_delay), 1) AS minutes_late
FROM flights f JOIN airports a ON f.dest = a.faa
GROUP BY ALL HAVING landings >= 100
ORDER BY minutes_late DESC, a.faa LIMIT 5`, latestDestinations(t.flights, airports)},
		{"Which landings were the latest of all, and what plane was it? LEFT JOIN keeps a flight whose plane is not known.", `
SELECT f.day, f.carrier || f.flight AS flight, o.name AS "from", d.name AS "to",
       p.manufacturer, p.year AS built, f.arr_delay AS minutes_late
FROM flights f
JOIN airports o ON f.origin = o.faa
JOIN airports d ON f.dest = d.faa
LEFT JOIN planes p ON f.tailnum = p.tailnum
WHERE f.arr_delay >= 400
ORDER BY minutes_late DESC, f.day, flight`, latestLandings(t.flights, planes, airports)},
	} {
		got, err := t.sql.run(ctx, q.why, q.sql)
		if err != nil {
			return err
		}
		if err := check(got, q.answer); err != nil {
			return err
		}
	}
	fmt.Println("\n   All three answers equal those computed from the files without Tarn.")
	return nil
}

// importFile makes a table and puts a file into it in one commit.
func importFile(ctx context.Context, t *tour, name, file, create string) (*source, error) {
	if _, err := t.sql.run(ctx, "A table for "+file+", which is then imported in one commit.", create); err != nil {
		return nil, err
	}
	path := filepath.Join(t.data, file)
	s, err := readSource(ctx, path)
	if err != nil {
		return nil, err
	}
	tab, err := t.cat.LoadTable(ctx, table.Identifier{Database: "air", Table: name})
	if err != nil {
		return nil, err
	}
	report, err := writeBatch(ctx, tab, s.batches...)
	if err != nil {
		return nil, err
	}
	fmt.Printf("     imported %d rows, as `tarn table import air.%s %s` does\n", report.Rows, name, path)
	return s, nil
}
