//go:build cgo && !tarn_nosql

package main

import (
	"bytes"
	"context"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	const want = `INSERT: 2 rows in snapshot [1]
INSERT: 1 rows in snapshot [2]
order 1001 was CREATED and is PAID, after 2 snapshots
order 1002 was CREATED and is CREATED, after 2 snapshots
`
	if got := out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}
