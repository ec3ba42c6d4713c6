package maintain

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// recordVersion is the version of plans and records written, and the highest read.
const recordVersion = 1

// Plan is what one round of a run sets out to remove. It is on disk before anything
// is removed, and until all of it is: what it names, nothing else may name any more.
type Plan struct {
	Version int    `json:"version"`
	Round   int    `json:"round"` // of the run, from 1
	Run     Header `json:"run"`
	// Going are the snapshots that go, ascending; changelogs when Changelogs is set.
	Going      []*snapshot.Snapshot `json:"going"`
	Changelogs bool                 `json:"changelogs,omitempty"`
	Stays      *snapshot.Snapshot   `json:"stays"`                   // the first one after them
	Decouple   bool                 `json:"decouple,omitempty"`      // snapshots leave changelogs behind
	CleanDirs  bool                 `json:"cleanDirs,omitempty"`     // empty directories go as well
	Free       bool                 `json:"consumersFree,omitempty"` // consumers hold no snapshots
	Files      Files                `json:"files"`
}

// Files are those that go with a plan.
type Files struct {
	Data       []DataFile  `json:"data,omitempty"`
	Index      []NamedFile `json:"index,omitempty"`
	Statistics []string    `json:"statistics,omitempty"`
	Manifests  []string    `json:"manifests,omitempty"`
	Lists      []string    `json:"lists,omitempty"`
}

// DataFile is a data file or changelog file with its side files.
type DataFile struct {
	Partition []byte   `json:"partition,omitempty"`
	Bucket    int32    `json:"bucket"`
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	Extra     []string `json:"extra,omitempty"`
	Bytes     int64    `json:"bytes"`
}

// NamedFile is a file that is known by its name and may lie anywhere.
type NamedFile struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (f *Files) count() int {
	n := len(f.Index) + len(f.Statistics) + len(f.Manifests) + len(f.Lists)
	for _, d := range f.Data {
		n += 1 + len(d.Extra)
	}
	return n
}

func (f *Files) bytes() (n int64) {
	for _, d := range f.Data {
		n += d.Bytes
	}
	return n
}

// Header is who set out to remove what, and when.
type Header struct {
	ID      string            `json:"id"`
	By      string            `json:"by"`
	Millis  int64             `json:"timeMillis"`
	Options map[string]string `json:"options,omitempty"` // given for the run
	Before  int64             `json:"olderThanMillis"`
}

// Audit is the record of a run.
type Audit struct {
	Version int    `json:"version"`
	Run     Header `json:"run"`
	Rounds  int    `json:"rounds"` // that are over
	Ended   int64  `json:"endedMillis"`
	Counts
	Snapshots  []int64  `json:"snapshots"`
	Changelogs []int64  `json:"changelogs,omitempty"`
	Consumers  []string `json:"consumers,omitempty"`
	// Undeleted are files that could not be deleted, the first ones.
	Undeleted []string `json:"undeleted,omitempty"`
	// FinishedBy is the run that finished this one, "" = itself.
	FinishedBy string `json:"finishedBy,omitempty"`
	// Abandoned is why a plan was given up.
	Abandoned string `json:"abandoned,omitempty"`
}

// Counts are files of a run.
type Counts struct {
	Files   int   `json:"files"`
	Deleted int   `json:"filesDeleted"`
	Failed  int   `json:"filesFailed,omitempty"`
	Held    int   `json:"filesHeld,omitempty"`
	Bytes   int64 `json:"bytes"`
}

func (c *Counts) add(o Counts) {
	c.Files, c.Deleted, c.Failed, c.Held, c.Bytes = c.Files+o.Files, c.Deleted+o.Deleted, c.Failed+o.Failed, c.Held+o.Held, c.Bytes+o.Bytes
}

// mostUndeleted is how many names of files an audit keeps, mostAudits how many audits
// a table.
const (
	mostUndeleted = 1000
	mostAudits    = 100
)

// Dir is the directory of plans and records, beside those of commits: Java and other
// readers look into directories they know by name and pass this one over.
func Dir(place layout.Table) string { return path.Join(place.BranchDir(), ".tarn/expire") }

const (
	planSuffix  = ".plan"
	auditSuffix = ".json"
)

func (x *Expirer) planFile(id string) string  { return Dir(x.cfg.Place) + "/" + id + planSuffix }
func (x *Expirer) auditFile(id string) string { return Dir(x.cfg.Place) + "/" + id + auditSuffix }

// records lists the runs with an open plan and those with a record, oldest first.
func (x *Expirer) records(ctx context.Context) (open, closed []string, err error) {
	for f, err := range fileio.All(ctx, x.cfg.FileIO, Dir(x.cfg.Place), fileio.ListOptions{}) {
		if err != nil {
			return nil, nil, tarnerr.Trace("listing records of expiry", err)
		}
		name := path.Base(f.Path)
		if id, ok := strings.CutSuffix(name, planSuffix); ok && !strings.HasPrefix(name, ".") {
			open = append(open, id)
		} else if id, ok := strings.CutSuffix(name, auditSuffix); ok && !strings.HasPrefix(name, ".") {
			closed = append(closed, id)
		}
	}
	slices.Sort(open)
	slices.Sort(closed)
	return open, closed, nil
}

// readPlan reads an open plan, nil when there is none.
func (x *Expirer) readPlan(ctx context.Context, id string) (*Plan, error) {
	file := x.planFile(id)
	data, err := fileio.ReadFile(ctx, x.cfg.FileIO, file)
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil, nil
		}
		return nil, tarnerr.Trace("reading plan of expiry", err, "path", file)
	}
	p, err := parsePlan(data)
	return p, tarnerr.Trace("reading plan of expiry", err, "path", file)
}

// parsePlan reads the bytes of a plan. Corrupt when they are none, Unsupported for
// those of a later release.
func parsePlan(data []byte) (*Plan, error) {
	const op = "reading plan"
	corrupt := func(why string) error {
		return tarnerr.New(tarnerr.Corrupt, op, why).
			WithHint("Remove the file: what it names is left to a clean-up of orphan files.")
	}
	p := &Plan{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, corrupt(err.Error())
	}
	if p.Version > recordVersion {
		return nil, laterRelease(op, p.Version)
	}
	if p.Version < 1 || len(p.Going) == 0 || p.Stays == nil {
		return nil, corrupt("no plan")
	}
	last := int64(0)
	for _, s := range append(p.Going[:len(p.Going):len(p.Going)], p.Stays) {
		if s == nil || s.ID <= last {
			return nil, corrupt("snapshots are not in order")
		}
		last = s.ID
	}
	return p, nil
}

func laterRelease(op string, version int) error {
	return tarnerr.New(tarnerr.Unsupported, op, "record of a later release", "version", version).
		WithHint("Expire with the release that wrote it, or a later one.")
}

// readAudit reads the record of a run, a new one when there is none or it is damaged:
// it is for people to read, and decides nothing but whether a round counts.
func (x *Expirer) readAudit(ctx context.Context, run Header) (*Audit, error) {
	const op = "reading record of expiry"
	fresh := &Audit{Version: recordVersion, Run: run, Snapshots: []int64{}}
	data, err := fileio.ReadFile(ctx, x.cfg.FileIO, x.auditFile(run.ID))
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return fresh, nil
		}
		return nil, tarnerr.Trace(op, err)
	}
	a := &Audit{}
	if json.Unmarshal(data, a) != nil {
		return fresh, nil
	}
	if a.Version > recordVersion {
		return nil, tarnerr.Trace(op, laterRelease(op, a.Version))
	}
	return a, nil
}

func (x *Expirer) writeRecord(ctx context.Context, file string, v any) error {
	const op = "recording expiry"
	data, err := json.Marshal(v)
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, op, err)
	}
	return tarnerr.Trace(op, x.cfg.FileIO.Replace(ctx, file, data), "path", file)
}
