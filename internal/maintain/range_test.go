package maintain

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestUntil holds the decision which ids go to cases in text. Snapshots are
// id@time, with gaps where there are none; a command has limits and holds.
func TestUntil(t *testing.T) {
	datadriven.RunTest(t, "testdata/until", func(t *testing.T, d *datadriven.TestData) string {
		times := map[int64]int64{}
		l := Limits{Min: 1, Max: 1 << 31, Most: 1 << 31, Before: 1 << 60}
		for _, word := range strings.Fields(d.Input) {
			id, at, _ := strings.Cut(word, "@")
			n := number(t, id)
			if l.Earliest == 0 {
				l.Earliest = n
			}
			l.Latest = n
			times[n] = number(t, at)
		}
		var holds []Hold
		for _, arg := range d.CmdArgs {
			v := func() int64 { return number(t, arg.Vals[0]) }
			switch arg.Key {
			case "min":
				l.Min = int(v())
			case "max":
				l.Max = int(v())
			case "limit":
				l.Most = int(v())
			case "before":
				l.Before = v()
			case "consumer", "commit":
				for _, from := range arg.Vals {
					holds = append(holds, Hold{By: arg.Key, Name: arg.Key + from, From: number(t, from)})
				}
			default:
				d.Fatalf(t, "no such argument %s", arg.Key)
			}
		}
		reads := map[int64]bool{}
		end, held, err := Until(l, holds, func(id int64) (int64, bool, error) {
			if reads[id] = true; id < l.Earliest || id > l.Latest {
				return 0, false, fmt.Errorf("snapshot %d was asked for", id)
			}
			at, ok := times[id]
			return at, ok, nil
		})
		if err != nil {
			return err.Error() + "\n"
		}
		out := fmt.Sprintf("[%d, %d) after %d reads\n", l.Earliest, end, len(reads))
		for _, h := range held {
			out += fmt.Sprintf("%s %s from %d\n", h.By, h.Name, h.From)
		}
		return out
	})
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
