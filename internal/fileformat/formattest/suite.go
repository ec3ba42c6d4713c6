package formattest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// OtherType is a column read as a type that it does not have in the file.
type OtherType = struct {
	Column, Type string
	Kind         tarnerr.Kind // of the refusal; 0 = it is read
	Value        string       // in the row looked at
}

// OtherTypes reads columns as types that hold the same values, and expects a
// refusal that names the column for those that do not.
func OtherTypes(t *testing.T, open func(t *testing.T) fileformat.File, row int, cases []OtherType) {
	for _, c := range cases {
		t.Run(c.Column+" as "+c.Type, func(t *testing.T) {
			fields := []types.Field{Field(1, c.Column, c.Type)}
			r, err := open(t).Read(context.Background(), fileformat.ReadRequest{Columns: fields})
			if err == nil {
				defer r.Close()
				rec, nextErr := r.Next(context.Background())
				if err = nextErr; err == nil {
					if got := types.FormatValue(fields[0].Type, types.ValueAt(fields[0].Type, rec.Column(0), row)); c.Kind != 0 || got != c.Value {
						t.Fatalf("read %q, want %q, kind %v", got, c.Value, c.Kind)
					}
					return
				}
			}
			if c.Kind == 0 || tarnerr.KindOf(err) != c.Kind || !strings.Contains(err.Error(), "column="+c.Column) {
				t.Fatalf("%v, want kind %v naming the column", err, c.Kind)
			}
		})
	}
}

// Ends is the suite of what a format answers when there is no file, when the
// caller has ended and when the reader is closed.
func Ends(t *testing.T, f fileformat.Format, data []byte) {
	ctx := context.Background()
	if _, err := f.Open(ctx, mem.New(mem.Posix), "/missing", 100, nil); !errors.Is(err, tarnerr.NotFound) {
		t.Errorf("opening a missing file: %v", err)
	}
	if _, err := f.Open(ctx, Store(data), Path, int64(len(data))+1, nil); !errors.Is(err, tarnerr.Corrupt) {
		t.Errorf("opening a file that is shorter than expected: %v", err)
	}
	file, err := f.Open(ctx, Store(data), Path, int64(len(data)), Checked(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	req := fileformat.ReadRequest{Columns: file.Fields()[:1]}
	if _, err := file.Read(ended, req); !errors.Is(err, context.Canceled) {
		t.Errorf("reading under an ended context: %v", err)
	}
	r, err := file.Read(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Next under an ended context: %v", err)
	}
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next after an error: %v", err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Next(ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("Next after Close: %v", err)
	}
}
