package tarnerr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorText(t *testing.T) {
	err := Wrap(Corrupt, "reading manifest list", io.ErrUnexpectedEOF, "path", "/w/m", "offset", 12).WithHint("Run %q.", "tarn fsck")
	want := `reading manifest list: unexpected EOF. path=/w/m offset=12. Run "tarn fsck".`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err.Error(), want)
	}
}

func TestOutermostKindCounts(t *testing.T) {
	inner := Wrap(Conflict, "committing", context.Canceled)
	outer := fmt.Errorf("job 7: %w", Wrap(Contention, "committing", inner))
	if !errors.Is(outer, Contention) || errors.Is(outer, Conflict) {
		t.Error("the outermost kind alone must match")
	}
	if KindOf(outer) != Contention {
		t.Errorf("KindOf = %v", KindOf(outer))
	}
	if !errors.Is(outer, context.Canceled) {
		t.Error("causes that are not kinds must stay visible")
	}
	if KindOf(Trace("x", inner)) != Conflict {
		t.Error("Trace must keep the kind")
	}
	if KindOf(io.EOF) != Internal || Trace("x", nil) != nil {
		t.Error("unclassified errors are internal, nil stays nil")
	}
}

func TestExitCodesDiffer(t *testing.T) {
	seen := map[int]Kind{}
	for k := Internal; k < Ambiguous; k++ {
		if o, dup := seen[k.ExitCode()]; dup {
			t.Errorf("%v and %v share exit code %d", o, k, k.ExitCode())
		}
		seen[k.ExitCode()] = k
	}
}

func TestHintOfTheOutermostErrorWithOne(t *testing.T) {
	inner := New(Corrupt, "reading", "bad").WithHint("Inner.")
	for want, err := range map[string]error{
		"":       fmt.Errorf("job: %w", New(Corrupt, "reading", "bad")),
		"Inner.": errors.Join(Trace("scanning", inner), io.EOF),
		"Outer.": Wrap(Corrupt, "scanning", inner).WithHint("Outer."),
	} {
		if got := Hint(err); got != want {
			t.Errorf("Hint(%v) = %q, want %q", err, got, want)
		}
	}
	if Hint(nil) != "" {
		t.Error("no error has no hint")
	}
}

func TestAttributeLooksThroughTheChain(t *testing.T) {
	err := Trace("importing", New(Invalid, "writing", "bad", "row", 3), "file", "x")
	if v, ok := Attribute(err, "row"); !ok || v != 3 {
		t.Errorf("row = %v %v", v, ok)
	}
	if v, ok := Attribute(err, "file"); !ok || v != "x" {
		t.Errorf("file = %v %v", v, ok)
	}
	if _, ok := Attribute(io.EOF, "row"); ok {
		t.Error("an unclassified error has no attributes")
	}
}
