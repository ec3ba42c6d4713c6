package advice

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/option"
)

var now = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// words are the fields of one line: bare words and name=value.
type words struct {
	t      *testing.T
	bare   []string
	values map[string]string
}

func parseWords(t *testing.T, line string) words {
	w := words{t, nil, map[string]string{}}
	for _, f := range strings.Fields(line) {
		if name, value, ok := strings.Cut(f, "="); ok && !strings.Contains(value, "=") && !strings.HasPrefix(f, "day") {
			w.values[name] = value
		} else {
			w.bare = append(w.bare, f)
		}
	}
	return w
}

func (w *words) int(name string) int64 {
	text, set := w.values[name]
	delete(w.values, name)
	if !set {
		return 0
	}
	scale := int64(1)
	for suffix, by := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			text, scale = n, by
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n * scale
}

// ago is a time so long ago, zero when it is not given.
func (w *words) ago(name string) time.Time {
	text, set := w.values[name]
	delete(w.values, name)
	if !set {
		return time.Time{}
	}
	return now.Add(-w.parse(text))
}

func (w *words) parse(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// figures reads what a table is like: lines `table …`, `option …`,
// `bucket …`, `snapshots …`, `consumer …`, `pending …`, `manifests …`, `tags …`.
func figures(t *testing.T, input string) *Figures {
	f := &Figures{Table: "db.t", PrimaryKey: true, Now: now}
	options := map[string]string{}
	for line := range strings.Lines(input) {
		w := parseWords(t, line)
		what := w.bare[0]
		w.bare = w.bare[1:]
		switch what {
		case "table":
			if f.Table = w.bare[0]; len(w.bare) > 1 {
				f.PrimaryKey = w.bare[1] != "append"
			}
		case "option":
			for k, v := range w.values {
				options[k] = v
			}
			w.values = nil
		case "bucket":
			b := BucketFigures{Bytes: w.int("bytes"), Files: int(w.int("files")), Runs: int(w.int("runs")),
				Unsettled: int(w.int("unsettled")), Oldest: w.ago("oldest"), Joinable: int(w.int("joinable"))}
			if _, err := fmt.Sscanf(w.bare[len(w.bare)-1], "%d/%d", &b.Number, &b.Total); err != nil {
				t.Fatal(err)
			}
			if len(w.bare) > 1 {
				b.Partition = w.bare[0]
			}
			for range max(1, w.int("times")) {
				f.Buckets = append(f.Buckets, b)
				b.Number++
			}
		case "snapshots":
			f.Snapshots = SnapshotFigures{Earliest: w.int("earliest"), Latest: w.int("latest"), EarliestTime: w.ago("made"), Young: w.int("young"),
				EarliestChange: w.int("change"), Recent: int(w.int("recent")), Compactions: int(w.int("compactions"))}
		case "consumer":
			f.Consumers = append(f.Consumers, ConsumerFigures{ID: w.bare[0], Next: w.int("next"), NextTime: w.ago("made")})
		case "pending":
			f.Pending = append(f.Pending, PendingFigures{User: w.bare[0], Identifier: w.bare[1], Base: w.int("base"), Begun: w.ago("begun")})
		case "tags":
			f.EndlessTags = int(w.int("endless"))
		case "manifests":
			f.Manifests = ManifestFigures{Count: int(w.int("count")), Small: int(w.int("small")), Entries: w.int("entries"), Files: w.int("files")}
		default:
			t.Fatalf("unknown line %s", line)
		}
		if len(w.values) > 0 {
			t.Fatalf("unknown %v in %s", w.values, line)
		}
	}
	o, err := option.Parse(options)
	if err != nil {
		t.Fatal(err)
	}
	f.Options = o
	return f
}

// TestAdvice replays testdata: `advise` judges a table.
func TestAdvice(t *testing.T) {
	rules := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "advise" {
				t.Fatalf("unknown command %s", d.Cmd)
			}
			var b strings.Builder
			for _, a := range Of(figures(t, d.Input)) {
				rules[a.Rule] = true
				fmt.Fprintf(&b, "%s %s %s, %s: %d, limit %d %s\n  %s\n  %s\n", a.Severity, a.Subject, a.Rule, a.Where, a.Figure, a.Limit, a.Unit, a.Text, a.Remedy)
			}
			if b.Len() == 0 {
				return "well\n"
			}
			return b.String()
		})
	})
	if len(rules) != 18 {
		t.Errorf("%d rules give advice in testdata: %v", len(rules), rules)
	}
	doc, err := os.ReadFile("../../docs/upkeep.md")
	if err != nil {
		t.Fatal(err)
	}
	for rule := range rules {
		if !strings.Contains(string(doc), "\n| `"+rule+"` | ") {
			t.Errorf("docs/upkeep.md does not list %s", rule)
		}
	}
}

func TestCommandsAreQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"shop.orders": "tarn shop.orders", "a b": "tarn 'a b'", "it's": `tarn "it's"`, "it's $5": `tarn 'it'\''s $5'`, "$x": "tarn '$x'", "day=2024-01-01,r=eu": "tarn day=2024-01-01,r=eu", "": "tarn ''", "*": "tarn '*'",
	} {
		if got := command(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
