package event

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMetrics(t *testing.T) {
	var m Metrics
	l := m.Listener()
	l.Emit(CommitEnd{Table: "db.t", Status: "SUCCEEDED", Snapshots: []int64{1, 2}, FilesAdded: 3, Bytes: 100, Elapsed: 1500 * time.Millisecond, Phases: Phases{Publish: 250 * time.Millisecond}})
	l.Emit(CommitEnd{Table: "db.t", Status: "SUCCEEDED", FilesAdded: 1, FilesDeleted: 2, BytesDeleted: 40, Rewritten: 500, RolledBack: []int64{7}})
	l.Emit(CommitEnd{Table: "db.t", Status: "FAILED", Reason: "conflict"})
	l.Emit(AttemptEnd{Table: "db.t", Outcome: "lost race"})
	l.Emit(CommitConflict{Table: "db.t", Operation: "COMPACT", Check: "file-deletion", Partition: `day="x"`, Maintenance: true})
	l.Emit(CommitConflict{Table: "db.t", Operation: "COMPACT", Check: "file-deletion", Partition: `day="x"`})
	l.Emit(FlushEnd{Table: "db.t", RowsIn: 30, RowsOut: 20, Bytes: 200})
	l.Emit(FlushEnd{Table: "db.t", RowsIn: 3, RowsOut: 2, Bytes: 20})
	l.Emit(FlushEnd{Table: "db.t", Err: errors.New("boom")})
	l.Emit(SpillEnd{Table: "db.t", Bytes: 50})
	l.Emit(SpillEnd{Table: "db.t", Bytes: 60})
	l.Emit(CompactEnd{Table: "db.t", BytesBefore: 900, BytesAfter: 700, Elapsed: 500 * time.Millisecond})
	l.Emit(CompactEnd{Table: "db.t", BytesBefore: 90, BytesAfter: 70, Elapsed: 250 * time.Millisecond})
	l.Emit(CompactEnd{Table: "db.t", Err: errors.New("boom")})
	l.Emit(CompactWait{Table: "db.t", Elapsed: 125 * time.Millisecond})
	l.Emit(Warning{Table: "db.t"})
	var b bytes.Buffer
	if err := m.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# TYPE tarn_commits_total counter\n",
		`tarn_commits_total{table="db.t",status="SUCCEEDED",reason=""} 2`,
		`tarn_commits_total{table="db.t",status="FAILED",reason="conflict"} 1`,
		`tarn_commit_seconds_total{table="db.t"} 1.5`,
		`tarn_commit_phase_seconds_total{table="db.t",phase="publish"} 0.25`,
		`tarn_commit_snapshots_total{table="db.t"} 2`,
		`tarn_commit_files_added_total{table="db.t"} 4`,
		`tarn_commit_bytes_deleted_total{table="db.t"} 40`,
		`tarn_commit_manifest_bytes_rewritten_total{table="db.t"} 500`,
		`tarn_commit_compactions_undone_total{table="db.t"} 1`,
		`tarn_commit_attempts_total{table="db.t",outcome="lost race"} 1`,
		`tarn_commit_conflicts_total{table="db.t",operation="COMPACT",check="file-deletion",partition="day=\"x\""} 2`,
		`tarn_commit_maintenance_conflicts_total{table="db.t"} 1`,
		`tarn_write_flushes_total{table="db.t",outcome="done"} 2`,
		`tarn_write_flushes_total{table="db.t",outcome="failed"} 1`,
		`tarn_write_flushed_rows_total{table="db.t"} 22`,
		`tarn_write_flushed_bytes_total{table="db.t"} 220`,
		`tarn_write_spills_total{table="db.t"} 2`,
		`tarn_write_spilled_bytes_total{table="db.t"} 110`,
		`tarn_compactions_total{table="db.t",outcome="done"} 2`,
		`tarn_compactions_total{table="db.t",outcome="failed"} 1`,
		`tarn_compaction_seconds_total{table="db.t"} 0.75`,
		`tarn_compaction_read_bytes_total{table="db.t"} 990`,
		`tarn_compaction_written_bytes_total{table="db.t"} 770`,
		`tarn_compaction_waits_total{table="db.t"} 1`,
		`tarn_compaction_wait_seconds_total{table="db.t"} 0.125`,
		`tarn_warnings_total{table="db.t"} 1`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, &b)
		}
	}
}

// Partitions are many, counters are not.
func TestMetricsAreBounded(t *testing.T) {
	var m Metrics
	l := m.Listener()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range maxPartitions {
				l.Emit(CommitConflict{Table: "db.t", Partition: fmt.Sprint(w, i)})
			}
		})
	}
	wg.Wait()
	var sum, others float64
	samples := m.Samples()
	for _, s := range samples {
		sum += s.Value
		if s.Labels[3].Value == "others" {
			others = s.Value
		}
	}
	if len(samples) != maxPartitions+1 || sum != 4*maxPartitions || others != 3*maxPartitions {
		t.Errorf("%d counters, %v conflicts, %v among the others", len(samples), sum, others)
	}
}
