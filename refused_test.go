package tarn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var refusing = table.Identifier{Database: "db", Table: "t"}

// known are values of options where a made-up one would be refused as a mistake.
var known = map[string]string{
	"upsert-key": "id", "manifest.format": "parquet", "file.format": "orc", "changelog-file.format": "orc",
	"file.format.per.level": "5:orc",
}

// unhonoured is a value of an option that its state refuses: one that is neither
// its default nor among what it accepts.
func unhonoured(t *testing.T, k option.Key) string {
	t.Helper()
	if v, ok := known[k.Name]; ok {
		return v
	}
	var try []string
	switch k.Kind {
	case option.Bool:
		try = []string{"true", "false"}
	case option.Enum:
		try = k.Values
	case option.Map:
		try = []string{"0:unheard-of"}
	case option.String:
		try = []string{"unheard-of"}
	default: // numbers, durations and sizes
		try = []string{"7"}
	}
	for _, v := range try {
		if !slices.ContainsFunc(append(k.Accept, k.Default), func(ok string) bool { return strings.EqualFold(ok, v) }) {
			return v
		}
	}
	t.Fatalf("no value of %s is refused: its state should be honoured", k.Name)
	return ""
}

// Every option whose state refuses, in a table that somebody else has made: what
// would write, and where the state says so what would read, is refused by the
// name and value of the option with a way out, and no file comes, goes or changes.
func TestRefusedOptions(t *testing.T) {
	type row struct {
		key, value string
		reads      bool
	}
	rows := []row{{"bucket", "-1", false}, {"bucket", "-2", true}}
	for _, k := range option.Keys() {
		if k.State < option.RefusesWrites {
			continue
		}
		for _, name := range append([]string{k.Name}, k.Fallbacks...) {
			rows = append(rows, row{name, unhonoured(t, k), k.State == option.RefusesReads})
		}
	}
	keyed, keyedMessages := healthyTable(t, "id")
	plain, plainMessages := healthyTable(t)
	for _, r := range rows {
		t.Run(r.key+"="+r.value, func(t *testing.T) {
			base, messages := keyed, keyedMessages
			if r.key == "upsert-key" { // a mistake where there is a primary key
				base, messages = plain, plainMessages
			}
			ctx, fs := t.Context(), base.Clone()
			setOption(t, fs, r.key, r.value)
			before := fs.Clone()
			cat := openMem(t, fs)
			tbl, err := cat.LoadTable(ctx, refusing)
			if r.reads {
				refusal(t, "opening it", err, r.key, r.value)
			} else if err != nil {
				t.Errorf("reads are refused, too: %v", err)
			} else {
				if n := countRows(t, tbl); n != 1 {
					t.Errorf("%d rows", n)
				}
				for what, err := range writesOf(ctx, tbl, messages) {
					refusal(t, what, err, r.key, r.value)
				}
			}
			sameFiles(t, before, fs)
		})
	}

	// The same as an option of one scan or one write.
	for _, r := range rows {
		t.Run("dynamic "+r.key+"="+r.value, func(t *testing.T) {
			ctx, fs := t.Context(), keyed.Clone()
			tbl, err := openMem(t, fs).LoadTable(ctx, refusing)
			if err != nil {
				t.Fatal(err)
			}
			dynamic := map[string]string{r.key: r.value}
			if r.reads {
				_, err := tbl.Scan(ctx, table.Scan{Options: dynamic})
				dynamicRefusal(t, "a scan", err, r.key, r.value)
				_, err = tbl.Follow(ctx, table.FollowOptions{Options: dynamic})
				dynamicRefusal(t, "a stream", err, r.key, r.value)
			}
			_, err = tbl.NewBatchWrite(ctx, table.WriteOptions{Options: dynamic})
			dynamicRefusal(t, "a batch", err, r.key, r.value)
			_, err = tbl.NewStreamWrite(ctx, table.WriteOptions{User: "u", Options: dynamic})
			dynamicRefusal(t, "a stream of commits", err, r.key, r.value)
			_, err = tbl.Compact(ctx, table.CompactOptions{Options: dynamic})
			dynamicRefusal(t, "a compaction", err, r.key, r.value)
			sameFiles(t, keyed, fs)
		})
	}
}

// writesOf tries all that writes to a table.
func writesOf(ctx context.Context, tbl table.Table, messages []table.Message) map[string]error {
	out := map[string]error{}
	_, out["a batch"] = tbl.NewBatchWrite(ctx, table.WriteOptions{})
	_, out["an overwrite"] = tbl.NewBatchWrite(ctx, table.WriteOptions{Overwrite: &table.Overwrite{}})
	_, out["a stream of commits"] = tbl.NewStreamWrite(ctx, table.WriteOptions{User: "u"})
	_, out["committing messages"] = tbl.Commit(ctx, table.Committable{User: "u", Identifier: 1, Messages: messages})
	_, out["truncating"] = tbl.Truncate(ctx, table.CommitOptions{})
	_, out["a compaction"] = tbl.Compact(ctx, table.CompactOptions{})
	return out
}

func refusal(t *testing.T, what string, err error, key, value string) {
	t.Helper()
	if !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "option="+key+" value="+value) ||
		!strings.Contains(err.Error(), "by Tarn") && !strings.Contains(err.Error(), "Create the table with") {
		t.Errorf("%s: %v, want %s=%s refused with a way out", what, err, key, value)
	}
}

// dynamicRefusal takes the refusal of options that no read or write may change,
// and of combinations that Java refuses too, as well.
func dynamicRefusal(t *testing.T, what string, err error, key, value string) {
	t.Helper()
	if errors.Is(err, tarnerr.Invalid) && strings.Contains(err.Error(), key) {
		return
	}
	refusal(t, what, err, key, value)
}

// healthyTable holds a table with a row, and messages that were prepared for it.
func healthyTable(t *testing.T, keys ...string) (*mem.FS, []table.Message) {
	ctx, fs := t.Context(), mem.New(mem.Posix)
	cat := openMem(t, fs)
	if err := cat.CreateDatabase(ctx, "db", false); err != nil {
		t.Fatal(err)
	}
	options := map[string]string{"bucket": "1"}
	if keys == nil {
		options["bucket"] = "-1"
	}
	if err := cat.CreateTable(ctx, refusing, schema.Spec{
		Fields:      []types.Field{{Name: "id", Type: types.MustParse("BIGINT NOT NULL")}},
		PrimaryKeys: keys, Options: options,
	}, false); err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.LoadTable(ctx, refusing)
	if err != nil {
		t.Fatal(err)
	}
	rec := oneRow(tbl.ArrowSchema())
	defer rec.Release()
	write := func() table.BatchWrite {
		w, err := tbl.NewBatchWrite(ctx, table.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := write()
	if _, err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	p := write()
	messages, err := p.Prepare(ctx)
	if err := errors.Join(err, w.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	return fs, messages
}

func openMem(t *testing.T, fs *mem.FS) catalog.Catalog {
	t.Helper()
	cat, err := tarn.Open(t.Context(), "/w", tarn.Config{Components: tarn.Components{FileIO: fs}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Close() })
	return cat
}

// setOption writes an option into the table's only schema file.
func setOption(t *testing.T, fs *mem.FS, key, value string) {
	t.Helper()
	const path = "/w/db.db/t/schema/schema-0"
	text, ok := fs.Get(path)
	var s map[string]any
	if err := json.Unmarshal(text, &s); !ok || err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s["options"].(map[string]any)[key] = value
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	fs.Put(path, text)
}

func sameFiles(t *testing.T, want, got *mem.FS) {
	t.Helper()
	if !slices.Equal(want.Paths(), got.Paths()) {
		t.Fatalf("files are %s, were %s", strconv.Quote(strings.Join(got.Paths(), " ")), strconv.Quote(strings.Join(want.Paths(), " ")))
	}
	for _, p := range want.Paths() {
		a, _ := want.Get(p)
		b, _ := got.Get(p)
		if !bytes.Equal(a, b) {
			t.Errorf("%s has changed", p)
		}
	}
}
