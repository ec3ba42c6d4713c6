package event

import (
	"bytes"
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
	l.Emit(CommitEnd{Table: "db.t", Status: "SUCCEEDED", FilesAdded: 1, FilesDeleted: 2})
	l.Emit(CommitEnd{Table: "db.t", Status: "FAILED", Reason: "conflict"})
	l.Emit(AttemptEnd{Table: "db.t", Outcome: "lost race"})
	l.Emit(CommitConflict{Table: "db.t", Operation: "COMPACT", Check: "file-deletion", Partition: `day="x"`, Maintenance: true})
	l.Emit(CommitConflict{Table: "db.t", Operation: "COMPACT", Check: "file-deletion", Partition: `day="x"`})
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
		`tarn_commit_attempts_total{table="db.t",outcome="lost race"} 1`,
		`tarn_commit_conflicts_total{table="db.t",operation="COMPACT",check="file-deletion",partition="day=\"x\""} 2`,
		`tarn_commit_maintenance_conflicts_total{table="db.t"} 1`,
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
