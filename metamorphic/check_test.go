package metamorphic

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// check holds the table and its changes to the model at each of some snapshots, of
// which the last one is settled or not.
func (r *run) check(snapshots []int64, settled bool) error {
	want, err := r.rows(r.model)
	if err != nil {
		return err
	}
	for i, id := range snapshots {
		last := i == len(snapshots)-1
		if last && settled {
			if err := r.settle(); err != nil {
				return err
			}
			if want, err = r.rows(r.model); err != nil {
				return err
			}
		}
		if err := r.view(id, want, settled && last); err != nil {
			return fmt.Errorf("snapshot %d: %w", id, err)
		}
	}
	if len(snapshots) == 0 {
		if !settled {
			return nil
		}
		return errors.Join(r.settle(), r.echo.Compact(r.h.config.looksUp()))
	}
	id := slices.Max(snapshots)
	if err := r.follow(id); err != nil {
		return fmt.Errorf("changes to snapshot %d: %w", id, err)
	}
	if settled {
		if err := r.echo.Compact(r.h.config.looksUp()); err != nil {
			return err
		}
	}
	switch r.h.config[producer] {
	case "none", "input":
		got, err := r.rows(r.echo)
		if err == nil {
			err = same("rows told and merged", got, want)
		}
		return err
	}
	if settled {
		return same("fold", r.told, want)
	}
	state, err := r.state(id)
	if err == nil {
		err = same(fmt.Sprintf("fold against the state of snapshot %d", id), r.told, state)
	}
	if err == nil {
		err = r.begins(state)
	}
	return err
}

// rows are the rows of a model that a reader sees.
func (r *run) rows(t *oracle.Table) (map[string]string, error) {
	out, err := t.Rows()
	if err != nil || r.h.config[equal] != "left-out-but-d" {
		return out, err
	}
	for key := range out {
		row, _, err := t.Row(key)
		if err != nil {
			return nil, err
		}
		out[key] = r.text(row)
	}
	return out, nil
}

// text is a row, without what changes of it that nobody tells.
func (r *run) text(row oracle.Row) string {
	if r.h.config[equal] == "left-out-but-d" {
		row.Values = slices.Clone(row.Values)
		row.Values[r.tbl.Schema().Index("d")] = nil
	}
	return r.model.Text(row)
}

// settle takes in that all rows are compacted.
func (r *run) settle() error {
	if err := r.model.Compact(r.h.config.looksUp()); err != nil {
		return err
	}
	for key := range r.keys() {
		r.shown[key] = len(r.model.Written(key))
	}
	return nil
}

// keys are all keys there were.
func (r *run) keys() map[string]bool {
	out := map[string]bool{}
	for _, c := range r.h.commits {
		for _, rows := range c.batches {
			for _, row := range rows {
				out[r.model.Key(row)] = true
			}
		}
	}
	return out
}

// begins holds rows that are shown, or told of, when they are compacted to the rows
// written: of each key those that came first were, and never fewer than before.
func (r *run) begins(got map[string]string) error {
	for key := range r.keys() {
		rows := r.model.Written(key)
		n := r.shown[key]
		for ; n <= len(rows); n++ {
			is, err := r.isOf(got[key], rows[:n])
			if err != nil {
				return err
			}
			if is {
				break
			}
		}
		if n > len(rows) {
			return fmt.Errorf("key %s is %q, which is not what the first %d rows or more give, of %v", key, got[key], r.shown[key], rows)
		}
		r.shown[key] = n
	}
	return nil
}

// isOf reports what is shown of some rows.
func (r *run) isOf(text string, rows []oracle.Row) (bool, error) {
	if len(rows) == 0 {
		return text == "", nil
	}
	for _, lone := range []bool{false, true} {
		row, ok, err := r.model.Merge(rows, lone)
		if err != nil {
			return false, err
		}
		seen := ""
		if ok && !row.Kind.IsRetract() {
			seen = r.text(row)
		}
		if seen == text {
			return true, nil
		}
	}
	return false, nil
}

// view reads the table at a snapshot.
func (r *run) view(id int64, want map[string]string, settled bool) error {
	reader, err := r.tbl.Scan(r.ctx, table.Scan{SnapshotID: id})
	if err != nil {
		return err
	}
	got := map[string]string{}
	err = r.each(reader, r.tbl.Schema().Fields, false, func(row oracle.Row) error {
		key := r.model.Key(row)
		if _, twice := got[key]; twice {
			return fmt.Errorf("key %s comes twice", key)
		}
		got[key] = r.text(row)
		return nil
	})
	if err != nil {
		return err
	}
	if settled {
		return same("table", got, want)
	}
	want = maps.Clone(want)
	switch {
	case r.h.config[engine] == "first-row":
		if err := r.hides(id, got, want); err != nil {
			return err
		}
	case r.h.config.looksUp():
		// Nobody knows which rows were compacted: one alone may be merged or not.
		merged, err := r.model.LookedUp()
		if err != nil {
			return err
		}
		rows, err := r.rows(merged)
		if err != nil {
			return err
		}
		for key, text := range rows {
			if got[key] == text {
				want[key] = text
			}
		}
	}
	return same("table", got, want)
}

// follow takes the changes up to a snapshot.
func (r *run) follow(to int64) error {
	f, err := r.tbl.Follow(r.ctx, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: r.position}, To: to})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		c, err := f.Next(r.ctx)
		if err == io.EOF {
			r.position = f.Position()
			return nil
		}
		if err != nil {
			return err
		}
		err = r.each(c.Rows, r.tbl.Schema().Fields, true, r.tell)
		if err == nil && r.taken != nil {
			err = fmt.Errorf("-U of %s comes last", r.taken.text)
		}
		if err != nil {
			return fmt.Errorf("of snapshot %d: %w", c.Snapshot.ID, err)
		}
	}
}

// tell takes one change. Of an update that the table makes itself both rows come, one
// right after the other, and where equal rows are left out they differ. The first row
// of a key is told as it was written: as +U, maybe.
func (r *run) tell(row oracle.Row) error {
	switch r.h.config[producer] {
	case "none", "input":
		r.echo.Write(row)
		return nil
	}
	key, text := r.model.Key(row), r.text(row)
	before, there := r.told[key]
	was := r.taken
	r.taken = nil
	if row.Kind == types.UpdateAfter && r.h.config[engine] == "first-row" {
		row.Kind = types.Insert
	}
	if after := row.Kind == types.UpdateAfter; after != (was != nil) || after && was.key != key {
		return fmt.Errorf("%v of %s, behind a -U of %+v", row.Kind, text, was)
	}
	switch row.Kind {
	case types.Insert:
		if there {
			return fmt.Errorf("+I of %s, but there is %s", text, before)
		}
		r.told[key] = text
	case types.UpdateAfter:
		if was.text == text && r.h.config[equal] != "told" {
			return fmt.Errorf("+U of %s, which is what there was", text)
		}
		r.told[key] = text
	default:
		if !there || before != text {
			return fmt.Errorf("%v of %s, but there is %s", row.Kind, text, before)
		}
		delete(r.told, key)
		if row.Kind == types.UpdateBefore {
			r.taken = &taken{key, text}
		}
	}
	return nil
}

// state is what a follower begins with that comes at a snapshot.
func (r *run) state(id int64) (map[string]string, error) {
	f, err := r.tbl.Follow(r.ctx, table.FollowOptions{From: table.Start{Mode: table.StartFull, Snapshot: id}, To: id})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	for {
		c, err := f.Next(r.ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		err = r.each(c.Rows, r.tbl.Schema().Fields, true, func(row oracle.Row) error {
			out[r.model.Key(row)] = r.text(row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
}

// each hands on the rows of a reader of some columns, and closes it unless they are changes, which
// their follower closes.
func (r *run) each(reader table.Reader, fields []types.Field, changes bool, f func(oracle.Row) error) (err error) {
	if !changes {
		defer func() {
			if e := reader.Close(); err == nil {
				err = e
			}
		}()
	}
	for {
		rec, err := reader.Next(r.ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			var row oracle.Row
			at := 0
			if changes {
				row.Kind = types.RowKind(rec.Column(0).(*array.Int8).Value(i))
				at = 1
			}
			for c, field := range fields {
				row.Values = append(row.Values, types.ValueAt(field.Type, rec.Column(at+c), i))
			}
			if err := f(row); err != nil {
				return err
			}
		}
	}
}

func same(what string, got, want map[string]string) error {
	if maps.Equal(got, want) {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", what)
	keys := slices.Collect(maps.Keys(got))
	keys = slices.AppendSeq(keys, maps.Keys(want))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if got[k] != want[k] {
			fmt.Fprintf(&b, "\n  key %s: got %q, want %q", k, got[k], want[k])
		}
	}
	return fmt.Errorf("%s", b.String())
}
