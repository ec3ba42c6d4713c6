package commit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// records are what the table's commits have left, by user and identifier.
func records(t *testing.T, fs *mem.FS) map[string]commitlog.Record {
	t.Helper()
	out := map[string]commitlog.Record{}
	for f, err := range commitlog.NewStore(fs, place, 1).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprintf("%s-%d-%s", f.User, f.Identifier, f.Kind)] = f.Record
	}
	return out
}

// Every commit leaves its evidence beside the table, as an event and in counters,
// whatever its end (I9, I10).
func TestEvidence(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, true) // one commit of user "first"
	faulty := faultio.New(fs, nil)
	var metrics event.Metrics
	var conflicts []event.CommitConflict
	tb := open(t, faulty, place, seeded(5))
	tb.listener = event.Tee(metrics.Listener(), &event.Listener{CommitConflict: func(c event.CommitConflict) { conflicts = append(conflicts, c) }})
	c := tb.committer()
	messages, err := tb.prepare(ctx, "b", 2, 3)
	if err != nil {
		t.Fatal(err)
	}

	// A lost race, then it lands.
	other := open(t, fs, place, seeded(9))
	raced := false
	faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if !raced && publishing(call) && call.Method == "create-if-absent" {
			raced = true
			other.put(other.committer(), "other", 1, "o", 9)
		}
		return faultio.Fault{}
	}))
	report, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	faulty.SetPlan(faultio.None())

	// The same files again conflict with what the other user did.
	_, err = c.Commit(ctx, commit.Request{User: "twin", Identifier: 1, Messages: messages, Check: true})
	if !errors.Is(err, tarnerr.Conflict) {
		t.Fatal(err)
	}
	if len(conflicts) != 1 || conflicts[0].Operation != "APPEND" || conflicts[0].Check != string(commit.FileAddition) || conflicts[0].OtherUser != "u" || conflicts[0].Maintenance {
		t.Errorf("conflicts %+v", conflicts)
	}

	// One in doubt.
	down := false
	faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		down = down || strings.Contains(call.Path, "/snapshot/snapshot-4") && call.Method == "create-if-absent"
		if down && strings.Contains(call.Path, "/snapshot/") {
			return faultio.Fault{When: faultio.Before, Kind: tarnerr.Ambiguous}
		}
		return faultio.Fault{}
	}))
	more, err := tb.prepare(ctx, "c", 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, commit.Request{User: "lost", Identifier: 1, Messages: more}); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
		t.Fatal(err)
	}
	faulty.SetPlan(faultio.None())

	got := records(t, fs)
	landed := got["u-1-APPEND"]
	if e := landed.End; e == nil || e.Status != commitlog.Succeeded || e.Snapshot != report.IDs()[0] || e.Base != 2 || len(e.Attempts) != 2 ||
		e.Attempts[0].Outcome != "lost race" || e.Attempts[0].Cause != "" || e.FilesAdded != 1 || e.Rows != 2 || e.Bytes == 0 || landed.Base != 1 || landed.Files != nil ||
		e.Phases.Publish == 0 || e.Phases.Backoff == 0 || e.Phases.Write == 0 || e.Phases.Intent == 0 || e.Phases.Read == 0 {
		t.Errorf("%+v %+v", landed, landed.End)
	}
	if report.Phases.Publish != landed.End.Phases.Publish {
		t.Errorf("report %+v, record %+v", report.Phases, landed.End.Phases)
	}
	failed := got["twin-1-APPEND"]
	if e := failed.End; e == nil || e.Status != commitlog.Failed || e.Reason != "conflict" || !strings.Contains(e.Error, "file-addition") || len(e.Conflicts) != 1 || e.Conflicts[0].OtherSnapshot != report.IDs()[0] {
		t.Errorf("%+v %+v", failed, failed.End)
	}
	lost := got["lost-1-APPEND"]
	if e := lost.End; e == nil || !lost.Pending() || e.Reason != "commit state unknown" || len(e.Attempts) == 0 || e.Attempts[0].Outcome != "unknown" || len(lost.Files) != 1 {
		t.Errorf("%+v %+v", lost, lost.End)
	}
	if first := got["first-1-APPEND"]; first.End == nil || first.End.Snapshot != 1 {
		t.Errorf("%+v", first)
	}
	var text strings.Builder
	if err := metrics.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tarn_commits_total{table="db.t",status="SUCCEEDED",reason=""} 1`, `tarn_commits_total{table="db.t",status="UNKNOWN",reason="commit state unknown"} 1`,
		`tarn_commit_attempts_total{table="db.t",outcome="lost race"} 1`,
		`tarn_commit_conflicts_total{table="db.t",operation="APPEND",check="file-addition",partition=""} 1`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}

	// Committing again settles what was in doubt, in the record, too.
	if _, err := c.Commit(ctx, commit.Request{User: "lost", Identifier: 1, Messages: more}); err != nil {
		t.Fatal(err)
	}
	if r := records(t, fs)["lost-1-APPEND"]; r.Pending() || r.End.Status != commitlog.Succeeded || r.Files != nil {
		t.Errorf("%+v %+v", r, r.End)
	}
}

// As long as the record of a commit is there, committing it again does nothing,
// also when others have committed since; after a rollback of the table it does.
func TestRecordMakesCommitsIdempotent(t *testing.T) {
	ctx := context.Background()
	for _, identifier := range []int64{1, snapshot.BatchIdentifier} {
		fs := prepared(t, mem.ObjectStore, false)
		tb := open(t, fs, place, seeded(5))
		c := tb.committer()
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		req := commit.Request{User: "u", Identifier: identifier, Messages: messages}
		if _, err := c.Commit(ctx, req); err != nil {
			t.Fatal(err)
		}
		tb.put(c, "u", 5, "c", 3)
		tb.put(c, "other", 1, "c", 4)
		r, err := open(t, fs, place, seeded(6)).committer().Commit(ctx, req)
		if err != nil || !r.Already || len(r.Snapshots) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		fs.Remove(place.SnapshotFile(4), place.SnapshotFile(3), place.SnapshotFile(2))
		r, err = open(t, fs, place, seeded(7)).committer().Commit(ctx, req)
		if err != nil || r.Already || r.IDs()[0] != 2 {
			t.Errorf("after a rollback: %+v, %v", r, err)
		}
		if got := fmt.Sprint(rows(t, fs, place)); got != "[1=a 2=b]" {
			t.Errorf("rows %s", got)
		}
	}
}

// A commit whose snapshot has expired is known to have landed by its record.
func TestRecordOutlivesTheSnapshot(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	c := tb.committer()
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	req := commit.Request{User: "u", Identifier: 1, Messages: messages}
	if _, err := c.Commit(ctx, req); err != nil {
		t.Fatal(err)
	}
	tb.put(c, "u", 2, "c", 3)
	tb.put(c, "other", 1, "c", 4)
	fs.Remove(place.SnapshotFile(1), place.SnapshotFile(2))
	later := open(t, fs, place, seeded(6)).committer()
	r, err := later.Commit(ctx, req)
	if err != nil || !r.Already || len(r.Snapshots) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if found, err := later.ResolveNamed(ctx, "u", 1, 0); err != nil || len(found) != 1 || found[0].Kind != snapshot.Append || found[0].Snapshot != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Batch commits without files have no name: truncating twice truncates twice.
func TestBatchCommitsWithoutFiles(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	c := tb.committer()
	for n := range 2 {
		tb.put(c, "writer", int64(n+1), "b", 2)
		r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: snapshot.BatchIdentifier, Overwrite: &commit.Overwrite{}})
		if err != nil || r.Already {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := rows(t, fs, place); got != nil {
			t.Errorf("rows %v", got)
		}
	}
}

// Records are bounded: with every 64th snapshot those that are too many go, and
// none of a commit in doubt. No commit lists a directory for it.
func TestRecordsExpire(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, seeded(1), spec(false, nil))
	log := commitlog.NewStore(fs, place, 1)
	if err := log.Put(ctx, commitlog.Record{User: "doubtful", Identifier: 1, Kind: snapshot.Append}); err != nil {
		t.Fatal(err)
	}
	count := layer.Count(fs)
	tb := open(t, count, place, seeded(2))
	tb.keep = commitlog.Keep{Count: 10, AgeMillis: 1 << 60}
	c := tb.committer()
	for id := int64(1); id <= 130; id++ {
		count.Reset()
		if _, err := c.Commit(ctx, commit.Request{User: "u", Identifier: id, Empty: true}); err != nil {
			t.Fatal(err)
		}
		if lists := count.Calls(layer.List); id > 1 && (lists > 0) != (id%64 == 0) {
			t.Fatalf("commit %d lists %d times", id, lists)
		}
	}
	got := records(t, fs)
	if _, ok := got["doubtful-1-APPEND"]; !ok || len(got) > 10+1+2 {
		t.Errorf("%d records are left: %v", len(got), got)
	}
	for id := 129; id <= 130; id++ { // made after the last expiry
		if _, ok := got[fmt.Sprintf("u-%d-APPEND", id)]; !ok {
			t.Errorf("the record of commit %d is gone", id)
		}
	}
}
