package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/datafile"
)

// Commands of TestText about changes:
//
//	follow snapshot=N                        a predicate
//	between after=N to=N mode=delta|changelog   a predicate
//	diff [before=N] to=N                     a predicate
//	expire snapshots=(N, …) [keep]           takes snapshots away; keep leaves their changelogs
//
// A split is shown as its files, or as "BEFORE => AFTER".

func (tb *planTable) follow(t *testing.T, d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	var id int64
	d.ScanArgs(t, "snapshot", &id)
	where, err := tb.where(d.Input)
	if err != nil {
		return "", err
	}
	snap, err := tb.cfg.Snapshots.Try(ctx, id)
	if snap == nil && err == nil {
		snap, err = tb.cfg.Snapshots.Missing(ctx, id)
	}
	if err != nil {
		return "", err
	}
	if snap == nil {
		return "still to come\n", nil
	}
	r, err := Follow(ctx, tb.cfg, Request{Where: where}, snap)
	return tb.changes(t, r, true), err
}

func (tb *planTable) between(t *testing.T, d *datadriven.TestData) (string, error) {
	var after, to int64
	var text string
	d.ScanArgs(t, "after", &after)
	d.ScanArgs(t, "to", &to)
	d.ScanArgs(t, "mode", &text)
	mode, ok := map[string]ChangeMode{"delta": FromDelta, "changelog": FromChangelog}[text]
	if !ok {
		t.Fatalf("unknown mode %s", text)
	}
	where, err := tb.where(d.Input)
	if err != nil {
		return "", err
	}
	r, err := Between(context.Background(), tb.cfg, Request{Where: where}, after, to, mode)
	return tb.changes(t, r, true), err
}

func (tb *planTable) diff(t *testing.T, d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	where, err := tb.where(d.Input)
	if err != nil {
		return "", err
	}
	var to, before int64
	d.ScanArgs(t, "to", &to)
	end, err := tb.cfg.Snapshots.Get(ctx, to)
	if err != nil {
		return "", err
	}
	d.MaybeScanArgs(t, "before", &before)
	start, err := tb.cfg.Snapshots.Try(ctx, before)
	if err != nil {
		return "", err
	}
	r, err := Diff(ctx, tb.cfg, Request{Where: where}, start, end)
	return tb.changes(t, r, false), err
}

// changes shows a plan of changes; streaming is what all its splits must be.
func (tb *planTable) changes(t *testing.T, r *Result, streaming bool) string {
	t.Helper()
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d manifests, %d files\n", r.ManifestsRead, r.FilesLeft)
	for _, s := range r.Splits {
		files := nameList(s.Files)
		if s.Change != nil {
			files = nameList(s.Change.Before) + " => " + files
		}
		if s.Streaming != streaming {
			t.Errorf("split of %s: streaming %v", files, s.Streaming)
		}
		fmt.Fprintf(&b, "%s: %s\n", tb.place(s), strings.TrimSpace(files))
	}
	return b.String()
}

func nameList(files []*datafile.Meta) string {
	var out []string
	for _, f := range files {
		out = append(out, f.FileName)
	}
	return strings.Join(out, " ")
}

func (tb *planTable) expire(t *testing.T, d *datadriven.TestData) error {
	ctx := context.Background()
	var ids []int64
	for _, a := range d.CmdArgs {
		if a.Key != "snapshots" {
			continue
		}
		for _, v := range a.Vals {
			var id int64
			if _, err := fmt.Sscan(v, &id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		snap, err := tb.cfg.Snapshots.Get(ctx, id)
		if err != nil {
			return err
		}
		if d.HasArg("keep") {
			if err := tb.cfg.FileIO.Replace(ctx, tb.cfg.Layout.ChangelogFile(id), snap.Marshal()); err != nil {
				return err
			}
		}
		if err := tb.cfg.FileIO.Delete(ctx, tb.cfg.Layout.SnapshotFile(id)); err != nil {
			return err
		}
	}
	return nil
}
