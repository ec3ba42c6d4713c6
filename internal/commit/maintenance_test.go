package commit_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Conflicts are counted by operation, table and partition, and those where upkeep
// and writing tread on each other are told as such: in the report, the event, the
// record and the counters (I10).
func TestMaintenanceConflicts(t *testing.T) {
	ctx := context.Background()
	s := spec(false, nil)
	s.Fields = append(s.Fields, types.Field{Name: "day", Type: types.Type{Root: types.VarChar, Length: math.MaxInt32}})
	s.PartitionKeys = []string{"day"}
	w := &world{T: t}
	w.begin(s)
	var metrics event.Metrics
	var told []event.CommitConflict
	listener := event.Tee(metrics.Listener(), &event.Listener{CommitConflict: func(c event.CommitConflict) { told = append(told, c) }})

	m := w.makeFile([]pair{{1, "a"}, {2, "a"}}, "d1", false)
	f := m.NewFiles[0]
	w.messages["f"] = m
	again := func(makes bool) *commitmsg.Message { // f, made anew or removed
		out := w.like(f)
		if after := w.makeFile([]pair{{1, "a"}, {2, "a"}}, "d1", false).NewFiles; makes {
			after[0].FileSource = ptr(datafile.Compact)
			out.CompactBefore, out.CompactAfter = []*datafile.Meta{f}, after
		} else {
			out.DeletedFiles, out.NewFiles = []*datafile.Meta{f}, after
		}
		return out
	}
	steps := []struct {
		user    string
		message *commitmsg.Message
		want    commit.Conflict // zero = none
		lands   bool
	}{
		{user: "first", message: m, lands: true},
		{user: "compactor", message: again(true), lands: true},
		{user: "writer", message: again(false), lands: true, // the compaction is undone
			want: commit.Conflict{Operation: "OVERWRITE", Maintenance: true, OtherUser: "compactor", OtherOperation: "COMPACT", OtherSnapshot: 2}},
		{user: "compactor2", message: again(true),
			want: commit.Conflict{Operation: "COMPACT", Maintenance: true, OtherUser: "writer", OtherOperation: "OVERWRITE", OtherSnapshot: 3}},
		{user: "writer2", message: again(false),
			want: commit.Conflict{Operation: "OVERWRITE", OtherUser: "writer", OtherOperation: "OVERWRITE", OtherSnapshot: 3}},
	}
	same := func(a, b commit.Conflict) bool {
		return a.Operation == b.Operation && a.Check == b.Check && a.Partition == b.Partition && a.Bucket == b.Bucket && slices.Equal(a.Files, b.Files) &&
			a.OtherUser == b.OtherUser && a.OtherOperation == b.OtherOperation && a.OtherSnapshot == b.OtherSnapshot && a.Maintenance == b.Maintenance
	}
	for _, step := range steps {
		told = nil
		tb := open(t, w.fs, place, w.env())
		tb.listener = listener
		r, err := tb.committer().Commit(ctx, commit.Request{User: step.user, Identifier: 1, Messages: []*commitmsg.Message{step.message}})
		if (err == nil) != step.lands || err != nil && tarnerr.KindOf(err) != tarnerr.Conflict {
			t.Fatalf("%s: %v", step.user, err)
		}
		if step.want.Operation == "" {
			if len(told) > 0 || len(r.Conflicts) > 0 {
				t.Errorf("%s: %+v", step.user, told)
			}
			continue
		}
		want := step.want
		want.Check, want.Partition, want.Files = string(commit.FileDeletion), "day=d1", []string{f.FileName}
		if len(r.Conflicts) != 1 || !same(r.Conflicts[0], want) {
			t.Errorf("%s: the report has %+v, want %+v", step.user, r.Conflicts, want)
		}
		if len(told) != 1 || told[0] != (event.CommitConflict{
			Table: "db.t", User: step.user, Operation: want.Operation, Check: want.Check, Partition: want.Partition, Bucket: int(want.Bucket),
			OtherUser: want.OtherUser, OtherOperation: want.OtherOperation, OtherSnapshot: want.OtherSnapshot, Maintenance: want.Maintenance,
		}) {
			t.Errorf("%s: told %+v, want %+v", step.user, told, want)
		}
		var kept []commit.Conflict
		for name, record := range records(t, w.fs) {
			if strings.HasPrefix(name, step.user+"-1-") && record.End != nil {
				kept = append(kept, record.End.Conflicts...)
			}
		}
		if len(kept) != 1 || !same(kept[0], want) {
			t.Errorf("%s: the record has %+v, want %+v", step.user, kept, want)
		}
	}
	var text strings.Builder
	if err := metrics.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tarn_commit_conflicts_total{table="db.t",operation="OVERWRITE",check="file-deletion",partition="day=d1"} 2`,
		`tarn_commit_conflicts_total{table="db.t",operation="COMPACT",check="file-deletion",partition="day=d1"} 1`,
		`tarn_commit_maintenance_conflicts_total{table="db.t"} 2`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
}
