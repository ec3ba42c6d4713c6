package commitlog

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Version is the version of records written and the highest one read. Version 1
// has intents only.
const Version = 2

// Status is how a commit ended, in the words of all results.
type Status string

const (
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	// Unknown: nobody can tell yet. Nothing may be repeated or deleted.
	Unknown Status = "UNKNOWN"
)

// Record is one snapshot that a commit sets out to make.
type Record struct {
	Version    int                 `json:"version"`
	User       string              `json:"user"`
	Identifier int64               `json:"identifier"`
	Kind       snapshot.CommitKind `json:"kind"`
	Base       int64               `json:"baseSnapshot"` // of the first try, 0 = none
	Delta      string              `json:"deltaManifestList"`
	Earlier    []string            `json:"earlierDeltaManifestLists,omitempty"` // of tries with other changes
	// Files are the data files, named as long as the commit is pending: a batch
	// commit is told by them.
	Files  []string `json:"files,omitempty"`
	Millis int64    `json:"timeMillis"` // begun
	// End is how it ended, nil for a bare intent.
	End *End `json:"end,omitempty"`
}

// End is how a commit ended.
type End struct {
	Millis   int64  `json:"timeMillis"`
	Status   Status `json:"status"`
	Reason   string `json:"reason,omitempty"` // error kind when not Succeeded
	Error    string `json:"error,omitempty"`
	Snapshot int64  `json:"snapshot,omitempty"`     // that was made, 0 = none
	Base     int64  `json:"baseSnapshot,omitempty"` // of the last try
	// When Unknown: the newest snapshot that the writer has seen, and the last one up
	// to which it has read all since the base of the first try and none is of this
	// commit. 0 = none.
	Latest int64 `json:"latestSnapshot,omitempty"`
	ReadTo int64 `json:"readToSnapshot,omitempty"`
	Evidence
	// Resolved: a later process found out, and knows no more than the outcome.
	Resolved bool `json:"resolved,omitempty"`
}

// Evidence is what a commit tells of its way.
type Evidence struct {
	Attempts     []Attempt    `json:"attempts,omitempty"`
	Conflicts    []Conflict   `json:"conflicts,omitempty"`
	FilesAdded   int          `json:"filesAdded"`
	FilesDeleted int          `json:"filesDeleted"`
	Rows         int64        `json:"deltaRecordCount"`
	Bytes        int64        `json:"bytesAdded"`
	BytesDeleted int64        `json:"bytesDeleted,omitempty"`
	Rewritten    int64        `json:"manifestBytesRewritten,omitempty"`
	RolledBack   []int64      `json:"rolledBack,omitempty"`
	Phases       event.Phases `json:"phases"`
}

// Attempt is one try to publish one snapshot.
type Attempt struct {
	Snapshot int64         `json:"snapshot"` // id tried
	Outcome  string        `json:"outcome"`  // committed, lost race, rolled back (a compaction that was in the way), unknown, failed
	Cause    string        `json:"cause,omitempty"`
	Elapsed  time.Duration `json:"elapsedNanos"`
}

// Conflict is a commit that was found not to fit what another one did.
type Conflict struct {
	Operation string   `json:"operation"` // commit kind of the one that does not fit
	Check     string   `json:"check"`
	Partition string   `json:"partition,omitempty"` // k=v/k=v
	Bucket    int32    `json:"bucket"`              // −1 = of no one bucket
	Files     []string `json:"files,omitempty"`     // the first ones
	// The other commit, where it is known.
	OtherUser      string `json:"otherUser,omitempty"`
	OtherOperation string `json:"otherOperation,omitempty"`
	OtherSnapshot  int64  `json:"otherSnapshot,omitempty"`
	// Maintenance: one of the two is a compaction and the other is not, so that
	// upkeep and writing tread on each other.
	Maintenance bool `json:"maintenance,omitempty"`
}

// Pending reports that the outcome is not known: the commit is at work, has died
// or is in doubt.
func (r *Record) Pending() bool { return r.End == nil || r.End.Status == Unknown }

// SearchFrom is the snapshot after which one of this commit may lie, given the
// newest that there is: those up to there need not be read again, and may have
// expired. A table that was rolled back since is searched from the base on.
func (r *Record) SearchFrom(latest int64) int64 {
	if r.End == nil || r.End.ReadTo > latest {
		return r.Base
	}
	return max(r.Base, r.End.ReadTo)
}

// Deltas are the names of the lists of its changes that were tried, which tell
// batch commits of one user apart.
func (r *Record) Deltas() []string { return append(slices.Clone(r.Earlier), r.Delta) }

// Most of what a record keeps, whatever the commit went through.
const (
	maxAttempts  = 50
	maxConflicts = 20
	maxFiles     = 10 // per conflict
	maxText      = 2000
)

// Ended is the record with its end, cut to what is worth keeping: of many
// attempts the last ones, and of a known outcome no names of files.
func (r Record) Ended(e End) Record {
	if e.Status != Unknown {
		r.Files, r.Earlier = nil, nil
	}
	e.Error = cut(e.Error)
	e.Attempts = slices.Clone(e.Attempts[max(0, len(e.Attempts)-maxAttempts):])
	for i := range e.Attempts {
		e.Attempts[i].Cause = cut(e.Attempts[i].Cause)
	}
	e.Conflicts = slices.Clone(e.Conflicts[max(0, len(e.Conflicts)-maxConflicts):])
	for i, c := range e.Conflicts {
		e.Conflicts[i].Files = c.Files[:min(len(c.Files), maxFiles)]
	}
	r.End = &e
	return r
}

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// Dir is the directory of the records of a table or branch. Java and other
// readers look into directories they know by name and pass this one over.
func Dir(place layout.Table) string { return path.Join(place.BranchDir(), ".tarn/commit") }

const suffix = ".json"

// Path is the same for the same commit, so that finding a record needs no
// listing: a stream's by user, identifier and kind, a batch commit's by its files.
func (r Record) Path(place layout.Table) string {
	var b strings.Builder
	b.WriteString(safeName(r.User))
	b.WriteByte('-')
	if r.Identifier == snapshot.BatchIdentifier {
		h := xxhash.New()
		for _, f := range r.Files {
			h.WriteString(f)
			h.Write([]byte{0})
		}
		b.WriteString("batch-" + strconv.FormatUint(h.Sum64(), 16))
	} else {
		b.WriteString(strconv.FormatInt(r.Identifier, 10))
	}
	b.WriteString("-" + strings.ToLower(string(r.Kind)) + suffix)
	return path.Join(Dir(place), b.String())
}

// safeName keeps letters, digits, dot, dash and underscore, replaces the rest,
// and adds a hash when that or the length makes two users look alike.
func safeName(user string) string {
	const most = 80
	out := []byte(user)
	for i, c := range out {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && (c != '.' || i == 0) {
			out[i] = '_'
		}
	}
	if len(out) > most {
		out = out[:most]
	}
	if string(out) != user {
		out = append(out, '~')
		out = strconv.AppendUint(out, xxhash.Sum64String(user), 16)
	}
	return string(out)
}

// Parse reads the bytes of a record. Corrupt when they are none, Unsupported for
// those of a later release.
func Parse(data []byte) (*Record, error) {
	const op = "reading commit record"
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	switch {
	case r.Version > Version:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "record of a later release", "version", r.Version).
			WithHint("Read it with the release that wrote it, or a later one.")
	case r.Version < 1 || r.User == "" || r.Kind == "":
		return nil, tarnerr.New(tarnerr.Corrupt, op, "no commit record", "version", r.Version)
	case r.End != nil && r.End.Status != Succeeded && r.End.Status != Failed && r.End.Status != Unknown:
		return nil, tarnerr.New(tarnerr.Corrupt, op, "no such status", "status", r.End.Status)
	}
	return r, nil
}

func (r Record) marshal() ([]byte, error) {
	r.Version = Version
	data, err := json.Marshal(r)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "writing commit record", err)
	}
	return data, nil
}
