//go:build interop

package player

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// beforePublish is the local storage on which something happens, once, when a snapshot
// is about to be published.
func beforePublish(meanwhile func()) fileio.FileIO {
	var once sync.Once
	return faultio.New(local.New(local.Options{Durability: fileio.OS}), faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "create-if-absent" && filepath.Base(filepath.Dir(c.Path)) == "snapshot" {
			once.Do(meanwhile)
		}
		return faultio.Fault{}
	}))
}

// prepare writes rows with a write of Tarn's and returns its messages; with a
// compaction when the table's options have it so.
func (s *scene) prepare(v string, keys ...int) (m []table.Message) {
	s.Helper()
	s.write(v, keys, func(ctx context.Context, _ table.Table, w table.BatchWrite) (err error) {
		m, err = w.Prepare(ctx)
		return err
	})
	// As a checkpoint keeps them.
	for i := range m {
		text, err := m[i].MarshalBinary()
		if err == nil {
			m[i] = table.Message{}
			err = m[i].UnmarshalBinary(text)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	return m
}

// commit commits messages on fio, nil = the local storage.
func (s *scene) commit(fio fileio.FileIO, c table.Committable) (r *table.CommitReport, err error) {
	s.Helper()
	cat, openErr := tarn.Open(s.Context(), s.warehouse, tarn.Config{Memory: 64 << 20, Components: tarn.Components{FileIO: fio}})
	if openErr != nil {
		s.Fatal(openErr)
	}
	defer cat.Close()
	t, openErr := cat.LoadTable(s.Context(), table.Identifier{Database: "db", Table: "t"})
	if openErr != nil {
		s.Fatal(openErr)
	}
	return t.Commit(s.Context(), c)
}

// Java and Tarn append to one table: they only lose races, and all lands (P17, scene
// 1). Java looks whether a snapshot is there and then moves its own over it, so it is
// never raced: it commits while Tarn is about to publish.
func TestAppendsOfBoth(t *testing.T) {
	t.Parallel()
	s := &scene{T: t, judge: judges.of(t), warehouse: t.TempDir()}
	s.java(`{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"options":{"bucket":"-1"}}`)
	want := map[int]string{}
	for round := range 2 {
		k := 10 * round
		mine, late := s.prepare("tarn", k), s.javaPrepares(nil, "late", k+2)
		r, err := s.commit(beforePublish(func() { s.otherCommits("meanwhile", k+1) }), table.Committable{User: "tarn", Identifier: int64(round + 1), Messages: mine})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Attempts) != 2 || r.Attempts[0].Outcome != "lost race" || r.Attempts[1].Outcome != "committed" || len(r.Conflicts) != 0 {
			t.Errorf("%+v", r)
		}
		// What Java prepared before either of them is as welcome.
		if err := s.javaCommits(late); err != nil {
			t.Fatal(err)
		}
		want[k], want[k+1], want[k+2] = "tarn", "meanwhile", "late"
	}
	s.holds(want)
	if got, want := s.kinds(), strings.TrimSuffix(strings.Repeat("other APPEND, tarn APPEND, java APPEND, ", 2), ", "); got != want {
		t.Errorf("snapshots %s, want %s", got, want)
	}
}

// otherCommits commits a row of another job of Java's.
func (s *scene) otherCommits(v string, k int) {
	s.Helper()
	s.java(fmt.Sprintf(`{"op":"write","user":"other","commit_id":%d,"rows":%s}`, k+1, rowsText(v, []int{k})))
}

// A job is restored from an old savepoint after the other one has compacted: the files
// that it wants to replace are gone, until it starts from the newest state or the table
// is rolled back to the savepoint's (P17, scene 4).
func TestOldSavepointsOfBoth(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	t.Run("a job of Tarn's", func(t *testing.T) {
		s := newRunScene(t, j)
		saved := table.Committable{User: "job", Identifier: 1, Messages: s.prepare("saved", 2, 3)}
		s.java(`{"op":"compact","user":"c-java"}`)
		// Its rows land, its compaction cannot.
		r, err := s.commit(nil, saved)
		if err != nil || len(r.Conflicts) == 0 || r.Conflicts[0].Check != "file-deletion" || r.Conflicts[0].OtherUser != "c-java" || r.Compaction == "" {
			t.Fatalf("%+v, %v", r, err)
		}
		want := map[int]string{1: "a", 2: "saved", 3: "saved"}
		s.holds(want)
		// Rolled back to the savepoint's snapshot, the table takes all of it.
		s.java(`{"op":"rollback","snapshot":2}`)
		saved.Check = true
		if r, err = s.commit(nil, saved); err != nil || r.Compaction != "" || !slices.Equal(r.Snapshots, []int64{3, 4}) || r.Already {
			t.Fatalf("%+v, %v", r, err)
		}
		if got, want := s.kinds(), "java APPEND, java APPEND, job APPEND, job COMPACT"; got != want {
			t.Errorf("snapshots %s, want %s", got, want)
		}
		s.javaWrites("on", 4)
		want[4] = "on"
		s.holds(want)
	})
	t.Run("a job of Java's", func(t *testing.T) {
		s := newRunScene(t, j)
		saved := s.javaPrepares(nil, "saved", 2, 3)
		if r := s.compact(func() {}); r.Compacted != 1 {
			t.Fatalf("%+v", r)
		}
		if err := s.javaCommits(saved); err == nil || !strings.Contains(err.Error(), "File deletion conflicts detected") {
			t.Errorf("Java's compaction: %v", err)
		}
		if err := s.javaCommits(s.javaPrepares(nil, "newest", 5)); err != nil {
			t.Error(err)
		}
		s.holds(map[int]string{1: "a", 2: "saved", 3: "saved", 5: "newest"})
	})
}

// newRunScene is a table with two sorted runs of Java's: who adds a third compacts
// them.
func newRunScene(t *testing.T, j *interop.Judge) *scene {
	s := newScene(t, j, `"num-sorted-run.compaction-trigger":"2"`)
	for ; s.written < 2; s.written++ {
		s.java(fmt.Sprintf(`{"op":"write","user":"java","commit_id":%d,"options":{"write-only":"true"},"rows":%s}`, s.written+1, rowsText("a", []int{1, 2})))
	}
	return s
}

// One of them changes the number of buckets. Without an overwrite the other's changes
// do not fit any more; with INSERT OVERWRITE both go on (P17, scene 5).
func TestBucketsOfBoth(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	tarn := func(s *scene, op string) error { return replay(s.Context(), s.warehouse, parse(s.T, op)) }
	const overwrite = `{"op":"write","overwrite":{},"rows":`
	t.Run("Java changes it", func(t *testing.T) {
		s := newRunScene(t, j)
		late := table.Committable{User: "tarn", Identifier: 1, Messages: s.prepare("late", 2)}
		// The bucket of this key is new, so that Java sees nothing of the old ones.
		s.java(`{"op":"alter","changes":[{"set_option":["bucket","2"]}]},{"op":"write","user":"java","commit_id":3,"rows":[["+I",9,"a"]]}`)
		if err := tarn(s, `{"op":"write","user":"tarn","rows":[["+I",9,"x"]]}`); tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "number of buckets") {
			t.Errorf("a write of Tarn's: %v", err)
		}
		r, err := s.commit(nil, late)
		if err != nil || len(r.Conflicts) == 0 || r.Conflicts[0].Check != "bucket-count" || r.Conflicts[0].OtherUser != "java" || r.Compaction == "" {
			t.Errorf("%+v, %v", r, err)
		}
		s.java(overwrite + rowsText("b", []int{1, 2, 3}) + "}")
		if err := tarn(s, `{"op":"write","user":"tarn","commit_id":2,"rows":[["+I",2,"c"],["+I",4,"c"]]}`); err != nil {
			t.Fatal(err)
		}
		s.holds(map[int]string{1: "b", 2: "c", 3: "b", 4: "c"})
	})
	t.Run("Tarn changes it", func(t *testing.T) {
		s := newRunScene(t, j)
		if err := tarn(s, `{"op":"alter","changes":[{"set_option":["bucket","3"]}]}`); err != nil {
			t.Fatal(err)
		}
		s.java(`{"op":"write","user":"java","commit_id":3,"rows":` + rowsText("x", []int{1, 2, 3, 4, 5, 6}) + `,"fails":"new bucket num 3"}`)
		s.written++
		if err := tarn(s, overwrite+rowsText("b", []int{1, 2, 3})+"}"); err != nil {
			t.Fatal(err)
		}
		s.javaWrites("c", 2, 4)
		s.holds(map[int]string{1: "b", 2: "c", 3: "b", 4: "c"})
	})
}
