package event

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Metrics counts what a listener hears of commits: ends by status and reason,
// tries by outcome, conflicts by operation and partition, and where the time
// went; and how writes flushed, spilled, compacted and waited for that. The zero value is ready to use. Safe for concurrent use.
//
// Its names and WriteText are those of Prometheus, without depending on it: serve
// WriteText, or copy Samples into a registry of any kind.
type Metrics struct {
	mu     sync.Mutex
	values map[string]*Sample
	series map[string]int // conflict series per table
}

// Sample is one counter.
type Sample struct {
	Name   string
	Labels []Label // in the order of the counter's definition
	Value  float64
}

// Label is a name and a value.
type Label struct{ Name, Value string }

// maxPartitions is how many partitions of one table are counted apart; the rest
// goes under the partition "others", so that counters stay few.
const maxPartitions = 1000

// Listener returns the listener that counts.
func (m *Metrics) Listener() *Listener {
	return &Listener{
		AttemptEnd: func(i AttemptEnd) {
			m.add("tarn_commit_attempts_total", 1, Label{"table", i.Table}, Label{"outcome", i.Outcome})
		},
		CommitConflict: m.conflict,
		CommitEnd:      m.commit,
		SnapshotDisplaced: func(i SnapshotDisplaced) {
			m.add("tarn_commit_displaced_total", 1, Label{"table", i.Table})
		},
		FlushEnd: func(i FlushEnd) {
			m.add("tarn_write_flushes_total", 1, Label{"table", i.Table}, Label{"outcome", outcome(i.Err)})
			m.add("tarn_write_flushed_rows_total", float64(i.RowsOut), Label{"table", i.Table})
			m.add("tarn_write_flushed_bytes_total", float64(i.Bytes), Label{"table", i.Table})
		},
		SpillEnd: func(i SpillEnd) {
			m.add("tarn_write_spills_total", 1, Label{"table", i.Table})
			m.add("tarn_write_spilled_bytes_total", float64(i.Bytes), Label{"table", i.Table})
		},
		CompactEnd: func(i CompactEnd) {
			m.add("tarn_compactions_total", 1, Label{"table", i.Table}, Label{"outcome", outcome(i.Err)})
			m.add("tarn_compaction_seconds_total", i.Elapsed.Seconds(), Label{"table", i.Table})
			m.add("tarn_compaction_read_bytes_total", float64(i.BytesBefore), Label{"table", i.Table})
			m.add("tarn_compaction_written_bytes_total", float64(i.BytesAfter), Label{"table", i.Table})
		},
		CompactWait: func(i CompactWait) {
			m.add("tarn_compaction_waits_total", 1, Label{"table", i.Table})
			m.add("tarn_compaction_wait_seconds_total", i.Elapsed.Seconds(), Label{"table", i.Table})
		},
		Warning: func(i Warning) {
			m.add("tarn_warnings_total", 1, Label{"table", i.Table})
		},
	}
}

func outcome(err error) string {
	if err != nil {
		return "failed"
	}
	return "done"
}

func (m *Metrics) conflict(i CommitConflict) {
	table := Label{"table", i.Table}
	m.add("tarn_commit_conflicts_total", 1, table, Label{"operation", i.Operation}, Label{"check", i.Check},
		Label{"partition", m.partition(i.Table, i.Partition)})
	if i.Maintenance {
		m.add("tarn_commit_maintenance_conflicts_total", 1, table)
	}
}

// partition is the partition, or "others" when too many are counted already.
func (m *Metrics) partition(table, partition string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := table + "\x00" + partition
	if _, known := m.series[key]; known {
		return partition
	}
	if m.series == nil {
		m.series = map[string]int{}
	}
	if m.series[table] >= maxPartitions {
		return "others"
	}
	m.series[table]++
	m.series[key] = 0
	return partition
}

func (m *Metrics) commit(i CommitEnd) {
	table := Label{"table", i.Table}
	m.add("tarn_commits_total", 1, table, Label{"status", i.Status}, Label{"reason", i.Reason})
	m.add("tarn_commit_seconds_total", i.Elapsed.Seconds(), table)
	for _, p := range []struct {
		name string
		took time.Duration
	}{
		{"queue", i.Phases.Queue}, {"read", i.Phases.Read}, {"check", i.Phases.Check}, {"write", i.Phases.Write},
		{"intent", i.Phases.Intent}, {"publish", i.Phases.Publish}, {"backoff", i.Phases.Backoff},
	} {
		m.add("tarn_commit_phase_seconds_total", p.took.Seconds(), table, Label{"phase", p.name})
	}
	m.add("tarn_commit_snapshots_total", float64(len(i.Snapshots)), table)
	m.add("tarn_commit_files_added_total", float64(i.FilesAdded), table)
	m.add("tarn_commit_files_deleted_total", float64(i.FilesDeleted), table)
	m.add("tarn_commit_bytes_added_total", float64(i.Bytes), table)
	m.add("tarn_commit_bytes_deleted_total", float64(i.BytesDeleted), table)
	m.add("tarn_commit_manifest_bytes_rewritten_total", float64(i.Rewritten), table)
	m.add("tarn_commit_compactions_undone_total", float64(len(i.RolledBack)), table)
}

func (m *Metrics) add(name string, by float64, labels ...Label) {
	key := name
	for _, l := range labels {
		key += "\x00" + l.Value
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.values[key]
	if s == nil {
		if m.values == nil {
			m.values = map[string]*Sample{}
		}
		s = &Sample{Name: name, Labels: labels}
		m.values[key] = s
	}
	s.Value += by
}

// Samples returns all counters, sorted by name and labels.
func (m *Metrics) Samples() []Sample {
	m.mu.Lock()
	out := make([]Sample, 0, len(m.values))
	for _, s := range m.values {
		out = append(out, *s)
	}
	m.mu.Unlock()
	slices.SortFunc(out, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.CompareFunc(a.Labels, b.Labels, func(x, y Label) int { return cmp.Compare(x.Value, y.Value) }))
	})
	return out
}

// WriteText writes the counters in the text format of Prometheus.
func (m *Metrics) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	last := ""
	for _, s := range m.Samples() {
		if s.Name != last {
			fmt.Fprintf(b, "# TYPE %s counter\n", s.Name)
			last = s.Name
		}
		b.WriteString(s.Name + "{")
		for i, l := range s.Labels {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(l.Name + `="` + escapeLabel.Replace(l.Value) + `"`)
		}
		b.WriteString("} " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
	return b.Flush()
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
