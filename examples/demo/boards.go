package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Places of some flightColumns in an event; the key comes first.
const (
	dayAt, carrierAt, flightAt, originAt, destAt = 0, 1, 2, 3, 4
	statusAt, versionAt, schedAt, depDelayAt     = 6, 7, 8, 9
)

// flightKey is the primary key: day, carrier, flight, origin.
type flightKey [4]any

// board keeps the event of the highest version of each flight.
func board(events [][]any) map[flightKey][]any {
	known := map[flightKey][]any{}
	for _, e := range events {
		key := flightKey(e[:4])
		if old := known[key]; old == nil || e[versionAt].(int32) > old[versionAt].(int32) {
			known[key] = e
		}
	}
	return known
}

// eveningOf is the part of a board that the demo shows, as printRows prints it.
func eveningOf(known map[flightKey][]any) [][]string {
	evening := arrow.Date32FromTime(time.Date(2013, 1, 16, 0, 0, 0, 0, time.UTC))
	var out [][]string
	for _, e := range known {
		due := e[schedAt].(int32)
		if e[dayAt] != evening || e[originAt] != "EWR" || due < 1900 || due > 1905 {
			continue
		}
		delay := "(null)"
		if e[depDelayAt] != nil {
			delay = fmt.Sprint(e[depDelayAt])
		}
		out = append(out, []string{
			fmt.Sprint(due), fmt.Sprint(e[carrierAt], e[flightAt]), fmt.Sprint(e[destAt]), fmt.Sprint(e[statusAt]), delay,
		})
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// changes counts the flights by their status in two boards.
func changes(early, late map[flightKey][]any) [][]string {
	counts := map[[2]string]int{}
	for key, e := range late {
		was := "UNKNOWN"
		if old := early[key]; old != nil {
			was = old[statusAt].(string)
		}
		counts[[2]string{was, e[statusAt].(string)}]++
	}
	var out [][]string
	for pair, n := range counts {
		out = append(out, []string{pair[0], pair[1], strconv.Itoa(n)})
	}
	slices.SortFunc(out, slices.Compare)
	return out
}
