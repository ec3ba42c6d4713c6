package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const dir = "/w/db.db/t"

func spec() Spec {
	return Spec{Fields: []types.Field{{Name: "a", Type: types.MustParse("INT")}, {Name: "b", Type: types.MustParse("STRING")}}}
}

func seeded() env.Env { return env.Seeded(1, time.UnixMilli(1000)) }

func TestStore(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.ObjectStore)
	s := NewStore(fs, dir+"/", seeded())
	if _, err := s.Latest(ctx); !errors.Is(err, tarnerr.NotFound) {
		t.Fatalf("latest of no table: %v", err)
	}
	if _, err := s.Alter(ctx, SetOption{"x", "y"}); !errors.Is(err, tarnerr.NotFound) {
		t.Fatalf("altering no table: %v", err)
	}
	first, err := s.Create(ctx, spec())
	if err != nil || first.ID != 0 || first.TimeMillis <= 1000 {
		t.Fatalf("created %+v, %v", first, err)
	}
	if _, err := s.Create(ctx, spec()); !errors.Is(err, tarnerr.AlreadyExists) {
		t.Fatalf("created twice: %v", err)
	}
	// Files other writers leave behind are no schemas.
	for _, name := range []string{".schema-1.0b5.tmp", "schema-x", "schema--1", "schema-+1", "schema-7/inner"} {
		if err := fileio.WriteFile(ctx, fs, dir+"/schema/"+name, nil); err != nil {
			t.Fatal(err)
		}
	}
	second, err := s.Alter(ctx, AddColumn{Path: []string{"c"}, Type: types.MustParse("DATE")}, SetOption{"x", "y"})
	if err != nil || second.ID != 1 || second.HighestFieldID != 2 || second.Options["x"] != "y" {
		t.Fatalf("altered %+v, %v", second, err)
	}
	ids, err := s.IDs(ctx)
	if err != nil || fmt.Sprint(ids) != "[0 1]" {
		t.Fatalf("ids %v, %v", ids, err)
	}
	other := NewStore(fs, dir, seeded())
	for _, st := range []*Store{s, other} {
		latest, err := st.Latest(ctx)
		if err != nil || latest.ID != 1 || latest.Index("c") != 2 {
			t.Fatalf("latest %+v, %v", latest, err)
		}
	}
	if _, err := other.Alter(ctx, DropColumn{[]string{"c"}}); err != nil {
		t.Fatal(err)
	}
	if latest, err := s.Latest(ctx); err != nil || latest.ID != 2 {
		t.Fatalf("another process' schema is not seen: %+v, %v", latest, err)
	}
	if old, err := s.Get(ctx, 0); err != nil || len(old.Fields) != 2 {
		t.Fatalf("schema 0: %+v, %v", old, err)
	}
	if _, err := s.Get(ctx, 9); !errors.Is(err, tarnerr.NotFound) {
		t.Fatalf("schema 9: %v", err)
	}
}

func TestLatestLooksOnce(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.ObjectStore)
	if _, err := NewStore(fs, dir, seeded()).Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	counted := layer.Count(fs)
	s := NewStore(counted, dir, seeded())
	for range 3 {
		if _, err := s.Latest(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if counted.Calls(layer.List) != 1 || counted.Calls(layer.Stat) != 2 || counted.Calls(layer.Open) != 1 {
		t.Errorf("three calls made %v, want 1 list, 1 open, 2 stats", counted)
	}
}

// Writers that alter at once lose no change and repeat none.
func TestAlterAtOnce(t *testing.T) {
	for _, profile := range []mem.Profile{mem.Posix, mem.ObjectStore} {
		ctx := t.Context()
		fs := mem.New(profile)
		if _, err := NewStore(fs, dir, seeded()).Create(ctx, spec()); err != nil {
			t.Fatal(err)
		}
		const writers, each = 4, 10
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				s := NewStore(fs, dir, seeded())
				for i := range each {
					if _, err := s.Alter(ctx, AddColumn{Path: []string{fmt.Sprintf("c%d_%d", w, i)}, Type: types.MustParse("INT")}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		latest, err := NewStore(fs, dir, seeded()).Latest(ctx)
		if err != nil || latest.ID != writers*each || len(latest.Fields) != 2+writers*each || latest.HighestFieldID != 1+writers*each {
			t.Errorf("%v: %d columns in schema %d, %v", profile, len(latest.Fields), latest.ID, err)
		}
	}
}

func TestAlterValidatesAgain(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	s := NewStore(fs, dir, seeded())
	if _, err := s.Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	// Between the look and the publish another process adds the column.
	raced := false
	racing := &racingFS{FileIO: fs, before: func() {
		raced = true
		if _, err := NewStore(fs, dir, seeded()).Alter(ctx, AddColumn{Path: []string{"c"}, Type: types.MustParse("DATE")}); err != nil {
			t.Error(err)
		}
	}}
	_, err := NewStore(racing, dir, seeded()).Alter(ctx, AddColumn{Path: []string{"c"}, Type: types.MustParse("INT")})
	if !errors.Is(err, tarnerr.AlreadyExists) || !raced {
		t.Errorf("second writer of one column: %v", err)
	}
}

// racingFS calls before in front of its first conditional create.
type racingFS struct {
	fileio.FileIO
	before func()
}

func (r *racingFS) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	if f := r.before; f != nil {
		r.before = nil
		f()
	}
	return r.FileIO.CreateIfAbsent(ctx, path, data)
}

func TestNoConditionalCreate(t *testing.T) {
	if _, err := NewStore(mem.New(mem.NoConditional), dir, seeded()).Create(t.Context(), spec()); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("created without conditional create: %v", err)
	}
}

// Each storage call of a create and an alter fails once, before and after its
// effect: the schemas are those of before or after, and the error says which.
func TestFaults(t *testing.T) {
	for _, profile := range []mem.Profile{mem.Posix, mem.ObjectStore} {
		t.Run(profile.String(), func(t *testing.T) {
			faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
				ctx := context.Background()
				fs := mem.New(profile)
				faulty := faultio.New(fs, plan)
				s := NewStore(faulty, dir, seeded())
				steps := []func() error{
					func() error { _, err := s.Create(ctx, spec()); return err },
					func() error { _, err := s.Alter(ctx, SetOption{"x", "1"}); return err },
					func() error {
						_, err := s.Alter(ctx, RenameColumn{[]string{"b"}, "c"})
						return err
					},
				}
				done := 0
				var failed error
				for _, step := range steps {
					if failed = step(); failed != nil {
						break
					}
					done++
				}
				ids, err := NewStore(fs, dir, seeded()).IDs(ctx)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case failed == nil && len(ids) != len(steps):
					t.Errorf("all succeeded, schemas are %v", ids)
				case failed != nil && len(ids) != done && tarnerr.KindOf(failed) != tarnerr.CommitStateUnknown:
					t.Errorf("after %d steps and %v schemas are %v", done, failed, ids)
				}
				for _, id := range ids {
					if _, err := NewStore(fs, dir, seeded()).Get(ctx, id); err != nil {
						t.Error(err)
					}
				}
				return faulty.Count()
			})
		})
	}
}

func TestBranchOptions(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	s := NewStore(fs, dir, seeded())
	if _, err := s.Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	set := SetOption{"scan.fallback-branch", "b"}
	if _, err := s.Alter(ctx, set); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "branch=b") {
		t.Errorf("fallback to a branch that is not there: %v", err)
	}
	if _, err := NewStore(fs, dir+"/branch/branch-b", seeded()).Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Alter(ctx, set, SetOption{"scan.primary-branch", "b"}); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("both branches: %v", err)
	}
	if _, err := s.Alter(ctx, set); err != nil {
		t.Error(err)
	}
}

func TestCorruptFileNamesItself(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	s := NewStore(fs, dir, seeded())
	if err := fileio.WriteFile(ctx, fs, s.Path(0), []byte(`{"id":0`)); err != nil {
		t.Fatal(err)
	}
	if err := fileio.WriteFile(ctx, fs, s.Path(3), []byte(`{"version":3,"id":4,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{0, 3} {
		if _, err := s.Get(ctx, id); !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), s.Path(id)) {
			t.Errorf("schema %d: %v", id, err)
		}
	}
}
