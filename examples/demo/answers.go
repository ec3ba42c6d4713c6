package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// latestMakers answers whose planes land latest, from the files.
func latestMakers(flights, planes *source) [][]string {
	known := planes.by("tailnum")
	return latest(flights, 500, func(f row) []string {
		if p, ok := known[f.text("tailnum")]; ok {
			return []string{p.text("manufacturer")}
		}
		return nil
	})
}

// latestDestinations answers where the wait is longest, from the files.
func latestDestinations(flights, airports *source) [][]string {
	known := airports.by("faa")
	all := latest(flights, 100, func(f row) []string {
		if a, ok := known[f.text("dest")]; ok {
			return []string{a.text("faa"), a.text("name")}
		}
		return nil
	})
	return all[:min(5, len(all))]
}

// latest counts the landings and averages the arrival delays of groups of
// flights, and sorts those with enough landings by delay. A flight whose group
// has no name is left out.
func latest(flights *source, enough int, group func(row) []string) [][]string {
	type landings struct {
		name           []string
		count, minutes int
		average        float64
	}
	groups := map[string]*landings{}
	for f := range flights.rows() {
		name := group(f)
		late, landed := f.value("arr_delay").(int32)
		if name == nil || !landed {
			continue
		}
		key := strings.Join(name, "\n")
		if groups[key] == nil {
			groups[key] = &landings{name: name}
		}
		groups[key].count++
		groups[key].minutes += int(late)
	}
	var list []*landings
	for _, g := range groups {
		if g.count >= enough {
			g.average = math.Round(float64(g.minutes)/float64(g.count)*10) / 10
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *landings) int {
		return cmp.Or(cmp.Compare(b.average, a.average), slices.Compare(a.name, b.name))
	})
	var out [][]string
	for _, g := range list {
		out = append(out, append(slices.Clone(g.name), strconv.Itoa(g.count), strconv.FormatFloat(g.average, 'g', -1, 64)))
	}
	return out
}

// flightOf is how people call a flight.
func flightOf(f row) string { return f.text("carrier") + f.text("flight") }

// latestLandings answers which flights were the latest of all, from the files.
func latestLandings(flights, planes, airports *source) [][]string {
	plane, airport := planes.by("tailnum"), airports.by("faa")
	var found []row
	for f := range flights.rows() {
		if late, landed := f.value("arr_delay").(int32); landed && late >= 400 {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.value("arr_delay").(int32), a.value("arr_delay").(int32)),
			dayOf(a).Compare(dayOf(b)), cmp.Compare(flightOf(a), flightOf(b)))
	})
	var out [][]string
	for _, f := range found {
		from, ok := airport[f.text("origin")]
		to, known := airport[f.text("dest")]
		if !ok || !known {
			continue
		}
		line := []string{dayOf(f).Format("2006-01-02"), flightOf(f), from.text("name"), to.text("name")}
		for _, column := range []string{"manufacturer", "year"} {
			if p, ok := plane[f.text("tailnum")]; ok {
				line = append(line, p.text(column))
			} else {
				line = append(line, "(null)")
			}
		}
		out = append(out, append(line, f.text("arr_delay")))
	}
	return out
}
