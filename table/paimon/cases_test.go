package paimon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// The files of testdata/cases are traps that other implementations fell into, from
// public reports, each in its smallest form; docs/cases.md says where the others are.
// A command is
//
//	table pk=(COLUMN, …) options=(KEY=VALUE, …)   lines NAME TYPE; ; in a value stands for ,
//	write [overwrite] [refused]                   one commit; lines KIND [VALUE, …]
//	compact [minor]
//	read [columns=(COLUMN, …)] [options=(…)] [kind]   the rows, with kind as their kinds' numbers
//	follow [from=N]                               changes in their order
//	snapshots                                     ids, kinds and whether they have a changelog
//	files                                         "level rows" of each live file, and changelog files on disk
//
// read also compares: the rows of a state are the same after a full compaction of a copy.
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		c := &caseTable{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "table" {
				*c = caseTable{}
			}
			c.fixture = newFixture(t)
			out, err := c.run(d)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

// caseTable is the table of a case; its fixture is the command's.
type caseTable struct {
	*fixture
	fs      *mem.FS
	commits int64
}

func (c *caseTable) run(d *datadriven.TestData) (string, error) {
	options := map[string]string{}
	var columns []string
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "columns":
			columns = a.Vals
		case "options":
			for _, kv := range a.Vals {
				k, v, _ := strings.Cut(kv, "=")
				options[k] = strings.ReplaceAll(v, ";", ",")
			}
		}
	}
	switch d.Cmd {
	case "table":
		spec := schema.Spec{Options: options}
		for line := range strings.Lines(d.Input) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			spec.Fields = append(spec.Fields, types.Field{Name: name, Type: types.MustParse(text)})
		}
		if a, ok := d.Arg("pk"); ok {
			spec.PrimaryKeys = a.Vals
		}
		c.fs = c.create(spec)
		return "", nil
	case "write":
		return "", c.writeLines(d)
	case "compact":
		_, err := c.open(c.fs).Compact(c.ctx, table.CompactOptions{Minor: d.HasArg("minor")})
		return "", err
	case "read":
		scan := table.Scan{Columns: columns, Options: options, Kind: d.HasArg("kind")}
		rows, err := c.read(c.fs, scan)
		if err != nil {
			return "", err
		}
		if options["incremental-between"] != "" {
			return lines(rows), nil
		}
		after := c.fs.Clone()
		if _, err := c.open(after).Compact(c.ctx, table.CompactOptions{Options: options}); err != nil {
			return "", err
		}
		if again, err := c.read(after, scan); err != nil || !slices.Equal(rows, again) {
			d.Fatalf(c.T, "after a full compaction the rows are %q, before %q: %v", again, rows, err)
		}
		return lines(rows), nil
	case "follow":
		start := table.Start{Mode: table.StartEarliest}
		if d.HasArg("from") {
			start.Mode = table.StartAt
			d.ScanArgs(c.T, "from", &start.Snapshot)
		}
		return c.followed(table.FollowOptions{From: start, Columns: columns, Options: options, Workers: 1})
	case "snapshots":
		var out []string
		for s, err := range c.open(c.fs).Snapshots(c.ctx) {
			if err != nil {
				return "", err
			}
			line := fmt.Sprint(s.ID, " ", s.CommitKind)
			if s.ChangelogManifestList != nil {
				line += " with a changelog"
			}
			out = append(out, line)
		}
		return lines(out), nil
	case "files":
		sys, err := c.tryOpen(c.fs, table.Identifier{Database: "db", Table: "t", System: "files"})
		if err != nil {
			return "", err
		}
		rows := c.rows(sys, table.Scan{Columns: []string{"level", "record_count"}})
		n := 0
		for _, p := range c.fs.Paths() {
			if strings.Contains(p, "/changelog-") {
				n++
			}
		}
		return lines(append(rows, fmt.Sprintf("%d of changelogs", n))), nil
	}
	d.Fatalf(c.T, "unknown command")
	return "", nil
}

func lines(list []string) string {
	if len(list) == 0 {
		return "nothing\n"
	}
	return strings.Join(list, "\n") + "\n"
}

// read gives the rows, sorted.
func (c *caseTable) read(fs *mem.FS, scan table.Scan) ([]string, error) {
	r, err := c.open(fs).Scan(c.ctx, scan)
	if err != nil {
		return nil, err
	}
	return c.drain(r), nil
}

// writeLines commits lines like -D [1,null,"a"].
func (c *caseTable) writeLines(d *datadriven.TestData) error {
	t := c.open(c.fs)
	var rows []string
	var kinds []types.RowKind
	for line := range strings.Lines(d.Input) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, err := types.ParseRowKind(word)
		var values []json.RawMessage
		if err == nil {
			err = json.Unmarshal([]byte(text), &values)
		}
		fields := t.Schema().Fields
		if err != nil || len(values) != len(fields) {
			d.Fatalf(c.T, "%s is no row: %v", line, err)
		}
		members := make([]string, len(values))
		for i, v := range values {
			members[i] = fmt.Sprintf("%q:%s", fields[i].Name, v)
		}
		rows, kinds = append(rows, "{"+strings.Join(members, ",")+"}"), append(kinds, kind)
	}
	rec := c.kindedBatch(t, "["+strings.Join(rows, ",")+"]", kinds)
	defer rec.Release()
	if d.HasArg("overwrite") {
		w, err := t.NewBatchWrite(c.ctx, table.WriteOptions{Overwrite: &table.Overwrite{Mode: table.OverwriteStatic}})
		if err != nil {
			return err
		}
		defer w.Close()
		if err := w.Write(c.ctx, rec); err != nil {
			return err
		}
		_, err = w.Commit(c.ctx)
		return err
	}
	w, err := t.NewStreamWrite(c.ctx, table.WriteOptions{User: "job"})
	if err != nil {
		return err
	}
	defer w.Close()
	w.WaitForCompaction(true)
	if err := w.Write(c.ctx, rec); err != nil {
		return err
	}
	c.commits++
	_, err = w.Commit(c.ctx, c.commits)
	return err
}

// followed gives changes as "SNAPSHOT KIND VALUE|…".
func (c *caseTable) followed(opts table.FollowOptions) (string, error) {
	t := c.open(c.fs)
	opts.To = c.latest(t).ID
	var out []string
	fl := c.follow(t, opts)
	for {
		changes, err := fl.Next(c.ctx)
		if err == io.EOF {
			return lines(out), nil
		}
		if err != nil {
			return "", err
		}
		for {
			rec, err := changes.Rows.Next(c.ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return "", err
			}
			for i := range int(rec.NumRows()) {
				var kind int8
				if _, err := fmt.Sscan(rec.Column(0).ValueStr(i), &kind); err != nil {
					return "", err
				}
				cells := make([]string, rec.NumCols()-1)
				for k := range cells {
					cells[k] = rec.Column(k + 1).ValueStr(i)
				}
				out = append(out, fmt.Sprint(changes.Snapshot.ID, " ", types.RowKind(kind), " ", strings.Join(cells, "|")))
			}
		}
	}
}

// Rows of one key and one sequence number, as two writers make that began at the same
// snapshot. Both files of level 0 stay (FLINK-29916). Of two levels, the row that Java
// 1.4.2 reads is read, before a compaction and after it (apache/paimon #5631).
func TestEqualSequenceNumbers(t *testing.T) {
	for _, apart := range []bool{true, false} {
		f := newFixture(t)
		fs := f.create(with(keySpec(), "bucket", "1", "write-only", "true"))
		var messages [][]table.Message
		for _, v := range []string{"first", "second"} {
			tbl := f.open(fs)
			w := f.stream(tbl)
			f.put(w, tbl, ids("mon", v, 1))
			m, err := w.Prepare(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, m)
		}
		for i, m := range messages {
			if _, err := f.open(fs).Commit(f.ctx, table.Committable{User: fmt.Sprint("writer", i), Identifier: 1, Messages: m}); err != nil {
				t.Fatal(err)
			}
			if apart && i == 0 {
				f.compact(f.open(fs), table.CompactOptions{Options: map[string]string{"write-only": "false"}})
			}
		}
		sys, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: "files"})
		if err != nil {
			t.Fatal(err)
		}
		columns := []string{"level", "min_sequence_number", "max_sequence_number"}
		if !apart {
			f.want(f.rows(sys, table.Scan{Columns: columns}), "0|0|0", "0|0|0")
			continue
		}
		f.want(f.rows(sys, table.Scan{Columns: columns}), "0|0|0", "5|0|0")
		f.want(f.rows(f.open(fs), table.Scan{}), "mon|1|first")
		f.compact(f.open(fs), table.CompactOptions{})
		f.want(f.rows(f.open(fs), table.Scan{}), "mon|1|first")
	}
}
