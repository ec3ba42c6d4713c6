package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := run(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	want := `stopped: the power went out
copier goes on after commit 4
the table holds 100 events, their offsets add up to 4950
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	// A third start has nothing left to do.
	out.Reset()
	if err := run(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "the table holds 100 events, their offsets add up to 4950\n") {
		t.Errorf("after another start:\n%s", out.String())
	}
}
