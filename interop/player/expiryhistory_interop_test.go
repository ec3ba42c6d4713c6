//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/interop"
)

// past is a table with a random history of Java's and Tarn's.
type past struct {
	*testing.T
	*rand.Rand
	judge     *interop.Judge
	warehouse string
	keyed     bool
	parts     int // partition columns, of p and h
	options   map[string]string
	commits   int64             // identifiers given
	decoupled int               // of eight times, how often changelogs outlive their snapshots
	tagged    map[string]string // digests of the rows of tags
	log       []string
}

// tableKinds are the options of the tables that have histories.
var tableKinds = []map[string]string{
	{"bucket": "1"},
	{"bucket": "2", "changelog-producer": "input"},
	{"bucket": "1", "changelog-producer": "lookup"},
	{"bucket": "1", "changelog-producer": "full-compaction"},
	{"bucket": "-1", "compaction.min.file-num": "2"},
	{"bucket": "2", "bucket-key": "k"},
}

func newPast(t *testing.T, j *interop.Judge, seed uint64) *past {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 29))
	p := &past{T: t, Rand: rnd, judge: j, warehouse: t.TempDir(), parts: rnd.IntN(3), options: map[string]string{}, tagged: map[string]string{}}
	kind := int(seed) % len(tableKinds)
	p.keyed = kind < 4
	maps.Copy(p.options, tableKinds[kind])
	p.decoupled = []int{1, 7, 7}[p.IntN(3)]
	maybe := func(key string, values ...string) {
		if p.IntN(2) == 0 {
			p.options[key] = values[p.IntN(len(values))]
		}
	}
	maybe("manifest.merge-min-count", "2", "3")
	maybe("snapshot.clean-empty-directories", "true")
	maybe("file.format", "avro", "parquet")
	if p.keyed {
		maybe("num-sorted-run.compaction-trigger", "2", "3")
		maybe("full-compaction.delta-commits", "2")
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("what happened:\n" + strings.Join(p.log, "\n"))
		}
	})
	p.create()
	return p
}

func (p *past) create() {
	p.Helper()
	keys := []string{}
	if p.keyed {
		keys = append(slices.Clone([]string{"p", "h"}[:p.parts]), "k")
	}
	p.play(p.IntN(2) == 0, map[string]any{
		"op": "create_table", "columns": [][]string{{"p", "STRING"}, {"h", "STRING"}, {"k", "INT"}, {"v", "STRING"}},
		"partition_keys": []string{"p", "h"}[:p.parts], "primary_keys": keys, "options": p.options,
	})
}

// play carries an operation out by Java or by Tarn.
func (p *past) play(java bool, op map[string]any) {
	p.Helper()
	text, err := json.Marshal(op)
	if err != nil {
		p.Fatal(err)
	}
	who := "tarn"
	scenario := &interop.Scenario{}
	if scenario, err = interop.ParseScenario(fmt.Appendf(nil, `{"name":"t","table":"db.t","ops":[%s]}`, text)); err != nil {
		p.Fatal(err)
	}
	if java {
		who = "java"
		err = p.judge.Scenario(p.Context(), p.warehouse, scenario)
	} else {
		err = replay(p.Context(), p.warehouse, scenario)
	}
	p.log = append(p.log, who+" "+string(text))
	if err != nil {
		p.Fatalf("%v", err)
	}
}

func (p *past) latest() int64 {
	p.Helper()
	if ids := snapshotIDs(p.T, p.warehouse); len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return 0
}

// rows are some of the partition p, or of any when it is "".
func (p *past) rows(part string) (rows [][]any) {
	for range 1 + p.IntN(4) {
		kind := "+I"
		if p.keyed && p.IntN(5) == 0 {
			kind = "-D"
		}
		at := part
		if at == "" {
			at = p.part()
		}
		p.commits++
		rows = append(rows, []any{kind, at, p.part(), p.IntN(6), fmt.Sprint("v", p.commits)})
	}
	return rows
}

func (p *past) part() string { return string('a' + rune(p.IntN(3))) }

// some does a few things to the table.
func (p *past) some(n int) {
	p.Helper()
	for range n {
		p.happen()
	}
}

// happen does something to the table. Tags, statistics and the like are Java's.
func (p *past) happen() {
	p.Helper()
	java := p.IntN(4) == 0
	user := map[bool]string{true: "java", false: "tarn"}[java]
	p.commits++
	latest := p.latest()
	op := map[string]any{"op": "write", "user": user, "commit_id": p.commits, "rows": p.rows("")}
	what := p.IntN(22)
	if latest == 0 {
		what = 21
	}
	switch {
	case what < 2 && p.options["bucket-key"] == "":
		if !p.keyed { // Java cannot compact a table that is empty
			java, user = false, "tarn"
		}
		op = map[string]any{"op": "compact", "user": "c-" + user, "commit_id": p.commits, "full": p.IntN(2) == 0 || !p.keyed}
	case what < 4 && p.keyed:
		op["compact"] = "full"
	case what == 4:
		op = map[string]any{"op": "write", "mode": "batch", "overwrite": map[string]string{}, "rows": p.rows("")}
	case what == 5 && p.parts > 0:
		part := p.part()
		op = map[string]any{"op": "write", "mode": "batch", "overwrite": map[string]string{"p": part}, "rows": p.rows(part),
			"options": map[string]string{"dynamic-partition-overwrite": "false"}}
	case what < 8 && p.parts > 0:
		op = map[string]any{"op": "drop_partition", "partitions": []map[string]string{{"p": p.part()}}}
	case what == 6:
		op = map[string]any{"op": "truncate"}
	case what == 8 || what == 9:
		java = true
		ids := snapshotIDs(p.T, p.warehouse)
		op = map[string]any{"op": "create_tag", "tag": fmt.Sprint("t", p.commits), "snapshot": ids[p.IntN(len(ids))]}
	case what == 10 && (p.options["changelog-producer"] != "" || len(changelogIDs(p.T, p.warehouse)) == 0):
		// With a tag Java deletes lists that a changelog of its snapshot still needs.
		if tags := tagNames(p.T, p.warehouse); len(tags) > 0 {
			java = true
			op = map[string]any{"op": "delete_tag", "tag": tags[p.IntN(len(tags))]}
		}
	case what == 12:
		java, op = true, map[string]any{"op": "analyze", "merged_rows": p.commits}
	case what == 13:
		java, op = true, map[string]any{"op": "compact_manifests"}
	case what == 14:
		op = map[string]any{"op": "consumer", "id": fmt.Sprint("c", p.IntN(2)), "next_snapshot": 1 + p.Int64N(latest+1)}
		if first := firstChange(p.T, p.warehouse); !java { // that are there
			op["next_snapshot"] = first + p.Int64N(latest+2-first)
		}
	case what == 15:
		if ids := snapshotIDs(p.T, p.warehouse); len(ids) > 3 {
			java, op = true, map[string]any{"op": "rollback", "snapshot": ids[len(ids)-2-p.IntN(2)]}
		}
	}
	p.play(java, op)
}

// tags are digests of the rows of each tag, as they were when it was first read.
func (p *past) tags() map[string]string {
	p.Helper()
	now := map[string]string{}
	for _, tag := range tagNames(p.T, p.warehouse) {
		if p.tagged[tag] == "" {
			p.tagged[tag] = taggedRows(p.T, p.judge, p.warehouse, tag)[tag]
		}
		now[tag] = p.tagged[tag]
	}
	return now
}

// ageConsumers makes some of them two days old.
func (p *past) ageConsumers() {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(tableDir(p.warehouse), "consumer", "*"))
	if err != nil {
		p.Fatal(err)
	}
	then := time.Now().Add(-48 * time.Hour)
	for _, f := range files {
		if p.IntN(2) == 0 {
			if err := os.Chtimes(f, then, then); err != nil {
				p.Fatal(err)
			}
		}
	}
}

// retention draws options of an expiry. By age it goes where snapshots lie hours apart.
func (p *past) retention(spread bool) map[string]string {
	least := 1 + p.IntN(3)
	most := least + p.IntN(4)
	age := func(hours int) string {
		if !spread {
			return "0 ms"
		}
		return fmt.Sprint(hours, " h")
	}
	hours := p.IntN(8)
	o := map[string]string{"snapshot.num-retained.min": fmt.Sprint(least), "snapshot.time-retained": age(hours)}
	if p.IntN(4) > 0 {
		o["snapshot.num-retained.max"] = fmt.Sprint(most)
	}
	if p.IntN(3) == 0 {
		o["snapshot.expire.limit"] = fmt.Sprint(1 + p.IntN(4))
	}
	if p.IntN(8) < p.decoupled { // or not quite
		o["changelog.num-retained.min"] = fmt.Sprint(least + p.IntN(3))
		if _, bounded := o["snapshot.num-retained.max"]; bounded {
			o["changelog.num-retained.max"] = fmt.Sprint(most + 2 + p.IntN(4))
		}
		switch p.IntN(4) {
		case 0:
			o["changelog.time-retained"] = "365 d"
		case 1, 2:
			o["changelog.time-retained"] = age(hours + p.IntN(6))
		}
		if p.IntN(3) == 0 {
			o["consumer.changelog-only"] = "true"
		}
	}
	if p.IntN(4) == 0 {
		o["consumer.expiration-time"] = "1 d"
	}
	if p.IntN(3) == 0 {
		o["snapshot.clean-empty-directories"] = fmt.Sprint(p.IntN(2) == 0)
	}
	return o
}
