package publishertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Fault is what happens to the atomic step.
type Fault int

const (
	None   Fault = iota
	Refuse       // it fails and says that it had no effect
	Drop         // it has no effect, and the answer is lost
	Lose         // it has its effect, and the answer is lost
)

// World is one table that has no snapshot yet.
type World struct {
	// Publisher opens the publisher of another process.
	Publisher func() commit.Publisher
	// At is the snapshot that readers see under an id, nil when there is none.
	At func(id int64) *snapshot.Snapshot
	// Fail makes the next atomic step go wrong.
	Fail func(Fault)
}

// Next is a snapshot of a user's commit that follows base.
func Next(base *snapshot.Snapshot, user string) *snapshot.Snapshot {
	id := int64(1)
	if base != nil {
		id = base.ID + 1
	}
	zero := int64(0)
	return &snapshot.Snapshot{
		Version: snapshot.Version, ID: id, BaseManifestList: "manifest-list-" + user + "-0", DeltaManifestList: "manifest-list-" + user + "-1",
		CommitUser: user, CommitIdentifier: 7, CommitKind: snapshot.Append, TimeMillis: 1_700_000_000_000 + id, NextRowID: &zero,
	}
}

func publication(base, next *snapshot.Snapshot) commit.Publication {
	return commit.Publication{Table: "db.t", TableUUID: TableUUID, Base: base, Next: next}
}

// doubtful reports an error after which the snapshot may be there.
func doubtful(err error) bool {
	switch tarnerr.KindOf(err) {
	case tarnerr.Ambiguous, tarnerr.CommitStateUnknown, tarnerr.Internal:
		return true
	}
	return false
}

// Run runs the contract. newWorld makes an empty table each time.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, w World)
	}{
		{"chain", chain}, {"taken", taken}, {"own bytes", ownBytes}, {"own earlier try", earlierTry}, {"refused", refused},
		{"reply lost after the effect", lost}, {"lost before the effect", dropped}, {"lost, then taken", droppedThenTaken},
		{"one wins", oneWins}, {"cancelled", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newWorld(t)) })
	}
}

func publish(t *testing.T, p commit.Publisher, base, next *snapshot.Snapshot) (commit.Outcome, error) {
	t.Helper()
	outcome, err := p.Publish(context.Background(), publication(base, next))
	if outcome != commit.Unknown && err != nil {
		t.Errorf("outcome %v comes with an error: %v", outcome, err)
	}
	if outcome == commit.Unknown && err == nil {
		t.Error("an unknown outcome comes without a reason")
	}
	return outcome, err
}

func want(t *testing.T, got, want commit.Outcome, err error) {
	t.Helper()
	if got != want {
		t.Fatalf("outcome %v, want %v: %v", got, want, err)
	}
}

func holds(t *testing.T, w World, next *snapshot.Snapshot) {
	t.Helper()
	there := w.At(next.ID)
	if there == nil || there.CommitUser != next.CommitUser || there.BaseManifestList != next.BaseManifestList {
		t.Fatalf("id %d holds %+v, want %+v", next.ID, there, next)
	}
}

func chain(t *testing.T, w World) {
	var base *snapshot.Snapshot
	for i := range 3 {
		next := Next(base, fmt.Sprint("u", i))
		outcome, err := publish(t, w.Publisher(), base, next)
		want(t, outcome, commit.Committed, err)
		holds(t, w, next)
		base = next
	}
	if s := w.At(4); s != nil {
		t.Errorf("nobody made %+v", s)
	}
}

// Whose id is taken has lost, and nothing of the other's changes.
func taken(t *testing.T, w World) {
	theirs := Next(nil, "theirs")
	outcome, err := publish(t, w.Publisher(), nil, theirs)
	want(t, outcome, commit.Committed, err)
	outcome, err = publish(t, w.Publisher(), nil, Next(nil, "mine"))
	want(t, outcome, commit.LostRace, err)
	holds(t, w, theirs)
}

// Publishing the same bytes again is no lost race: they are there.
func ownBytes(t *testing.T, w World) {
	next := Next(nil, "mine")
	for range 2 {
		outcome, err := publish(t, w.Publisher(), nil, next)
		want(t, outcome, commit.Committed, err)
	}
	holds(t, w, next)
}

// An earlier try of the same commit at the id is neither a win of this one nor a
// lost race: the caller has to look.
func earlierTry(t *testing.T, w World) {
	earlier := Next(nil, "mine")
	outcome, err := publish(t, w.Publisher(), nil, earlier)
	want(t, outcome, commit.Committed, err)
	later := *earlier
	later.BaseManifestList = "manifest-list-other"
	outcome, err = publish(t, w.Publisher(), nil, &later)
	if outcome != commit.Unknown || !doubtful(err) {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	holds(t, w, earlier)
}

// What failed before any effect says so, and can be done again.
func refused(t *testing.T, w World) {
	next := Next(nil, "mine")
	w.Fail(Refuse)
	outcome, err := publish(t, w.Publisher(), nil, next)
	if outcome != commit.Unknown || doubtful(err) {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	if s := w.At(1); s != nil {
		t.Errorf("id 1 holds %+v", s)
	}
	outcome, err = publish(t, w.Publisher(), nil, next)
	want(t, outcome, commit.Committed, err)
}

// A lost reply may be resolved at once or not, but is never taken for a lost race.
func lost(t *testing.T, w World) {
	next := Next(nil, "mine")
	w.Fail(Lose)
	outcome, err := publish(t, w.Publisher(), nil, next)
	if outcome == commit.LostRace || outcome == commit.Unknown && !doubtful(err) {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	holds(t, w, next)
	outcome, err = publish(t, w.Publisher(), nil, next) // the retry takes the same bytes
	want(t, outcome, commit.Committed, err)
}

func dropped(t *testing.T, w World) {
	next := Next(nil, "mine")
	w.Fail(Drop)
	outcome, err := publish(t, w.Publisher(), nil, next)
	if outcome != commit.Unknown || !doubtful(err) {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	if s := w.At(1); s != nil {
		t.Errorf("id 1 holds %+v", s)
	}
	outcome, err = publish(t, w.Publisher(), nil, next)
	want(t, outcome, commit.Committed, err)
	holds(t, w, next)
}

func droppedThenTaken(t *testing.T, w World) {
	mine, theirs := Next(nil, "mine"), Next(nil, "theirs")
	w.Fail(Drop)
	if outcome, err := publish(t, w.Publisher(), nil, mine); outcome != commit.Unknown {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	outcome, err := publish(t, w.Publisher(), nil, theirs)
	want(t, outcome, commit.Committed, err)
	outcome, err = publish(t, w.Publisher(), nil, mine)
	want(t, outcome, commit.LostRace, err)
	holds(t, w, theirs)
}

// Of several who want one id exactly one gets it, and all know who (INV-COMMIT-1).
func oneWins(t *testing.T, w World) {
	const publishers, rounds = 8, 10
	var base *snapshot.Snapshot
	for range rounds {
		outcomes := make([]commit.Outcome, publishers)
		nexts := make([]*snapshot.Snapshot, publishers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range publishers {
			nexts[i] = Next(base, fmt.Sprint("u", i))
			p := w.Publisher()
			wg.Go(func() {
				<-start
				var err error
				if outcomes[i], err = publish(t, p, base, nexts[i]); outcomes[i] == commit.Unknown {
					t.Errorf("publisher %d does not know: %v", i, err)
				}
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for i, o := range outcomes {
			if o != commit.Committed {
				continue
			}
			if winner >= 0 {
				t.Fatalf("both %d and %d have won", winner, i)
			}
			winner = i
		}
		if winner < 0 {
			t.Fatal("nobody has won")
		}
		holds(t, w, nexts[winner])
		base = nexts[winner]
	}
}

// Who comes with a context that has ended publishes nothing and knows it.
func cancelled(t *testing.T, w World) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	next := Next(nil, "mine")
	outcome, err := w.Publisher().Publish(ctx, publication(nil, next))
	if outcome != commit.Unknown || err == nil || doubtful(err) {
		t.Errorf("outcome %v: %v", outcome, err)
	}
	if s := w.At(1); s != nil {
		t.Errorf("id 1 holds %+v", s)
	}
}
