package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	want := `SUCCEEDED: snapshot [1], 1 file(s), 2 row(s)
SUCCEEDED: snapshot [2], 1 file(s), 1 row(s)
id=1001 status=PAID version=3 
id=1002 status=CREATED version=1 
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
