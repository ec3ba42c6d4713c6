package schema

import (
	"errors"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// A schema file that was read, created or altered is told from one that took its place.
func TestVerify(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	maker := NewStore(fs, dir, seeded())
	if _, err := maker.Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	if _, err := maker.Alter(ctx, SetOption{"x", "y"}); err != nil {
		t.Fatal(err)
	}
	reader := NewStore(fs, dir, seeded())
	if _, err := reader.Latest(ctx); err != nil {
		t.Fatal(err)
	}
	for id := range int64(2) { // the reader has not read schema 0 before
		for _, s := range []*Store{maker, reader} {
			if err := s.Verify(ctx, id); err != nil {
				t.Errorf("schema %d: %v", id, err)
			}
		}
	}
	for id := range int64(2) {
		if err := fs.Delete(ctx, maker.Path(id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewStore(fs, dir, env.Seeded(2, time.UnixMilli(5000))).Create(ctx, spec()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{maker, reader} {
		if err := s.Verify(ctx, 0); !errors.Is(err, tarnerr.Conflict) {
			t.Errorf("another schema 0: %v", err)
		}
		if err := s.Verify(ctx, 1); !errors.Is(err, tarnerr.NotFound) {
			t.Errorf("no schema 1: %v", err)
		}
	}
}
