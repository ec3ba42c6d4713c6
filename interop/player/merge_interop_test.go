//go:build interop

package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/tarnerr"
)

// alike compares what Java reads of either table, and what Tarn reads of both.
func (p *siblings) alike(what string) []string {
	p.Helper()
	want := read(p.T, p.judge, p.theirs)
	for who, got := range map[string][]string{
		"Java of Tarn's": read(p.T, p.judge, p.ours), "Tarn of Java's": read(p.T, itself{}, p.theirs), "Tarn of its own": read(p.T, itself{}, p.ours),
	} {
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			p.Errorf("%s, %s: (-Java of its own +read) %s", what, who, d)
		}
	}
	return want
}

// numbered is an operation that commits under an identifier.
func numbered(op string, id int) string {
	for _, name := range []string{"write", "compact"} {
		op = strings.ReplaceAll(op, fmt.Sprintf(`{"op":%q`, name), fmt.Sprintf(`{"op":%q,"commit_id":%d`, name, id))
	}
	return op
}

// create is an operation that makes a table of columns "name TYPE" with key k.
func create(columns, options map[string]string) string {
	var fields, settings []string
	for name, typ := range columns {
		fields = append(fields, fmt.Sprintf("[%q,%q]", name, typ))
	}
	slices.Sort(fields)
	for key, value := range options {
		settings = append(settings, fmt.Sprintf("%q:%q", key, value))
	}
	slices.Sort(settings)
	return `{"op":"create_table","columns":[` + strings.Join(fields, ",") + `],"primary_keys":["k"],"options":{"bucket":"1",` + strings.Join(settings, ",") + `}}`
}

// Where rows are looked up a row that is alone is folded: the tables and their
// changelogs are those of Java.
func TestLoneRowsOfLookups(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for name, c := range map[string]struct {
		columns, options map[string]string
		ops              []string
	}{
		"aggregation": {
			map[string]string{"k": "INT", "a": "BIGINT", "b": "ARRAY<INT>", "c": "STRING"},
			map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "collect", "fields.b.distinct": "true",
				"fields.c.aggregate-function": "listagg", "fields.c.distinct": "true", "fields.c.ignore-retract": "true"},
			[]string{ // columns a, b, c, k
				`{"op":"write","rows":[["-D",5,null,"x",1],["+I",3,[1,1,2],"y;y",2],["-U",7,null,null,3]]}`,
				`{"op":"write","rows":[["+I",1,[4,4],null,1],["+U",2,[2,2],"z",4]]}`,
				`{"op":"write","rows":[["-D",2,[2],null,4],["+I",9,null,"x,x",5],["-D",1,[1],null,6]]}`,
			},
		},
		"groups": {
			map[string]string{"k": "INT", "a": "BIGINT", "g": "BIGINT", "x": "STRING"},
			map[string]string{"merge-engine": "partial-update", "fields.g.sequence-group": "a"},
			[]string{ // columns a, g, k, x
				`{"op":"write","rows":[["+I",1,null,1,"x"],["+I",2,5,2,null],["-D",3,6,3,"gone"]]}`,
				`{"op":"write","rows":[["+I",7,null,4,"y"],["+I",null,6,1,null],["-U",null,7,5,"z"]]}`,
				`{"op":"write","rows":[["+I",8,1,3,null],["+I",9,1,5,null]]}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSiblings(t, j)
			c.options["changelog-producer"] = "lookup"
			ops := append([]string{create(c.columns, c.options)}, c.ops...)
			for i, op := range ops {
				op = numbered(op, i)
				p.java(p.theirs, op)
				p.tarn(p.ours, op)
				if i > 0 {
					p.alike(fmt.Sprint("commit ", i))
				}
			}
			if d := cmp.Diff(streamed(t, p.judge, p.theirs), streamed(t, p.judge, p.ours)); d != "" {
				t.Errorf("changelogs of Java and Tarn: %s", d)
			}
		})
	}
}

// A row that differs only in fields that are to be ignored is in the table, and nothing
// is told of it: the changelogs are those of Java.
func TestIgnoredFieldsAreNotTold(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for producer, compact := range map[string]string{"lookup": "", "full-compaction": `,{"op":"compact","full":true}`} {
		t.Run(producer, func(t *testing.T) {
			p := newSiblings(t, j)
			ops := []string{
				create(map[string]string{"k": "INT", "a": "INT", "b": "STRING", "c": "INT"}, map[string]string{
					"changelog-producer": producer, "changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "b,c",
				}), // columns a, b, c, k
				`{"op":"write","rows":[["+I",1,"x",1,1],["+I",1,"x",1,2],["+I",1,"x",1,3],["+I",null,null,null,4]]}` + compact,
				`{"op":"write","rows":[["+I",1,"y",2,1],["+I",2,"x",1,2],["-D",1,"x",1,3],["+I",null,"z",null,4],["+I",5,"new",5,5]]}` + compact,
				`{"op":"write","rows":[["+I",3,"y",2,1],["+I",2,null,null,2],["+I",1,"back",1,3],["+I",4,"z",null,4],["-D",5,"other",6,5]]}` + compact,
			}
			for i, op := range ops {
				op = numbered(op, i)
				p.java(p.theirs, op)
				p.tarn(p.ours, op)
				if i > 0 {
					p.alike(fmt.Sprint("commit ", i))
				}
			}
			want := streamed(t, p.judge, p.theirs)
			if d := cmp.Diff(want, streamed(t, p.judge, p.ours)); d != "" {
				t.Errorf("changelogs of Java and Tarn: %s", d)
			}
			// 4 new ones; an update, a delete, a new one; two updates, a new one, a delete.
			if len(want) != 4+4+6 {
				t.Errorf("Java tells %d changes: %q", len(want), want)
			}
		})
	}
}

// Where rows are looked up a row that is alone leaves nothing of a group whose sequence
// fields are null in it: Java's compactions fail on columns of it that are NOT NULL, and
// so do Tarn's. Where rows are not looked up both keep it as it is.
func TestLoneRowsThatLeaveNothing(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for producer, fails := range map[string]bool{"lookup": true, "full-compaction": false, "none": false} {
		t.Run(producer, func(t *testing.T) {
			p := newSiblings(t, j)
			p.both(create(map[string]string{"k": "INT", "n": "INT NOT NULL", "s": "INT"}, map[string]string{
				"merge-engine": "partial-update", "fields.s.sequence-group": "n", "changelog-producer": producer, "write-only": "true",
			}) + `,{"op":"write","rows":[["+I",1,5,null]]},{"op":"write","rows":[["+I",2,6,1]]}`)
			compact := `{"op":"compact","full":true}`
			java := j.Scenario(t.Context(), p.theirs.Warehouse, json.RawMessage(`{"name":"t","table":"db.t","ops":[`+compact+`]}`))
			tarn := replay(t.Context(), p.ours.Warehouse, parse(t, compact))
			if fails {
				if java == nil || !strings.Contains(java.Error(), "'n' expected not null") {
					t.Errorf("Java: %v", java)
				}
				if !errors.Is(tarn, tarnerr.Invalid) || !strings.Contains(tarn.Error(), "NOT NULL. column=n") {
					t.Errorf("Tarn: %v", tarn)
				}
			} else if java != nil || tarn != nil {
				t.Errorf("Java: %v. Tarn: %v", java, tarn)
			}
			want := []string{`{"k":1,"n":5,"s":null}`, `{"k":2,"n":6,"s":1}`}
			if got := p.alike(producer); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A file without deletes that goes straight to the highest level Java moves as it
// is: its table has another row than its changelog. Tarn's has what both tell.
func TestLookupsThatJavaMoves(t *testing.T) {
	t.Parallel()
	p := newSiblings(t, judges.of(t))
	ops := create(map[string]string{"k": "INT", "b": "ARRAY<INT>"}, map[string]string{
		"merge-engine": "aggregation", "fields.b.aggregate-function": "collect", "fields.b.distinct": "true", "changelog-producer": "lookup",
	}) + `,{"op":"write","rows":[["+I",[1,1],1]]}`
	p.java(p.theirs, ops)
	p.tarn(p.ours, ops)
	for who, c := range map[string]struct {
		q    interop.Query
		want string
	}{"Java": {p.theirs, `{"b":[1,1],"k":1}`}, "Tarn": {p.ours, `{"b":[1],"k":1}`}} {
		if got := read(t, p.judge, c.q); !slices.Equal(got, []string{c.want}) {
			t.Errorf("the table of %s has %q, want %s", who, got, c.want)
		}
		if got := streamed(t, p.judge, c.q); len(got) != 1 || !strings.Contains(got[0], `"b":[1],"k":1`) {
			t.Errorf("the changelog of %s: %q", who, got)
		}
	}
}

// Java's write buffer sorts by the sequence field ascending, whatever its order, and
// takes −0.0 for smaller than 0.0; between files it does neither. So the same rows
// in the same order leave one row or another, as they happen to be flushed. Tarn
// gives one answer: what Java gives for rows that come one by one.
func TestBufferOrderOfJava(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for name, c := range map[string]struct {
		typ   string
		order string
		rows  []string
		java  map[string]string // by how the rows are cut into commits
		tarn  string
	}{
		"descending": {"INT", "descending", []string{"3", "1", "2"},
			map[string]string{"3 1 2": "3", "3|1|2": "1", "3 1|2": "2", "3|1 2": "2"}, "1"},
		"zeroes": {"DOUBLE", "ascending", []string{"0.0", "-0.0"},
			map[string]string{"0.0 -0.0": "0.0", "0.0|-0.0": "-0.0"}, "-0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			for cut, java := range c.java {
				p := newSiblings(t, j)
				ops := []string{create(map[string]string{"k": "INT", "s": c.typ}, map[string]string{
					"sequence.field": "s", "sequence.field.sort-order": c.order, "write-only": "true",
				})}
				for commit := range strings.SplitSeq(cut, "|") {
					var rows []string
					for s := range strings.FieldsSeq(commit) {
						rows = append(rows, fmt.Sprintf(`["+I",1,%s]`, s))
					}
					ops = append(ops, `{"op":"write","rows":[`+strings.Join(rows, ",")+`]}`)
				}
				p.java(p.theirs, strings.Join(ops, ","))
				p.tarn(p.ours, strings.Join(ops, ","))
				line := func(s string) []string { return []string{`{"k":1,"s":` + s + `}`} }
				if got := read(t, p.judge, p.theirs); !slices.Equal(got, line(java)) {
					t.Errorf("%s: Java has %q, want %s", cut, got, java)
				}
				if got := read(t, p.judge, p.ours); !slices.Equal(got, line(c.tarn)) {
					t.Errorf("%s: Tarn has %q, want %s", cut, got, c.tarn)
				}
			}
		})
	}
}

// Rows expire in compactions of either as in those of the other, and never in reads.
func TestRowsExpireAsInJava(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for typ, times := range map[string][3]string{ // 1970, 2000 or a little later, 2037
		"INT":                               {"7", "946684800", "2114380800"},
		"BIGINT":                            {"7", "1009843200000", "2114380800000"},
		"TIMESTAMP(3)":                      {`"1970-01-01T00:00:07"`, `"2000-01-01T00:00:00"`, `"2037-01-01T00:00:00"`},
		"TIMESTAMP(6) WITH LOCAL TIME ZONE": {`"1970-01-01T00:00:07Z"`, `"2000-01-01T00:00:00Z"`, `"2037-01-01T00:00:00Z"`},
	} {
		producers := []string{"none"}
		if typ == "INT" {
			producers = []string{"none", "full-compaction", "lookup"}
		}
		for _, producer := range producers {
			t.Run(typ+" "+producer, func(t *testing.T) {
				p := newSiblings(t, j)
				n := 0
				step := func(what, op string, rows int) {
					t.Helper()
					n++
					op = numbered(op, n)
					p.java(p.theirs, op)
					p.tarn(p.ours, op)
					if got := p.alike(what); len(got) != rows {
						t.Errorf("%s: %q, want %d rows", what, got, rows)
					}
				}
				// Forty years back: rows of 2000 stay.
				step("created", create(map[string]string{"k": "INT", "t": typ}, map[string]string{
					"record-level.expire-time": "14600 d", "record-level.time-field": "t", "write-only": "true", "changelog-producer": producer,
				}), 0)
				step("written", fmt.Sprintf(`{"op":"write","rows":[["+I",1,%[1]s],["+I",2,%[2]s],["+I",3,%[3]s],["+I",4,null],["+I",5,%[2]s]]}`, times[0], times[1], times[2]), 5)
				step("compacted", `{"op":"compact"}`, 4)
				step("written again", fmt.Sprintf(`{"op":"write","rows":[["+I",2,%s],["-D",5,%s],["+I",6,%s]]}`, times[0], times[0], times[0]), 4)
				step("compacted again", `{"op":"compact"}`, 4) // the older rows are back
				step("made shorter", `{"op":"alter","changes":[{"set_option":["record-level.expire-time","1 h"]}]}`, 4)
				step("compacted at last", `{"op":"compact"}`, 2)
				if producer == "none" {
					return
				}
				if d := cmp.Diff(streamed(t, p.judge, p.theirs), streamed(t, p.judge, p.ours)); d != "" {
					t.Errorf("changelogs of Java and Tarn: %s", d)
				}
			})
		}
	}
}
