package commit

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// intentDir lies beside the table's own directories. Java and other readers
// look into directories they know by name and pass this one over.
const intentDir = ".tarn/commit"

// intent is durable before a snapshot is published and removed when its outcome
// is known: whoever comes back after a crash finds out by it what may have landed.
type intent struct {
	Version    int                 `json:"version"`
	User       string              `json:"user"`
	Identifier int64               `json:"identifier"`
	Kind       snapshot.CommitKind `json:"kind"`
	Base       int64               `json:"baseSnapshot"` // of the first try, 0 = none
	Delta      string              `json:"deltaManifestList"`
	Earlier    []string            `json:"earlierDeltaManifestLists,omitempty"` // of tries with other changes
	Files      []string            `json:"files"`
	Millis     int64               `json:"timeMillis"`
}

const intentVersion = 1

func (i intent) identity() identity {
	return identity{i.User, i.Identifier, i.Kind, append(slices.Clone(i.Earlier), i.Delta)}
}

// path is the same for the same commit, so that finding an intent needs no
// listing: a stream's by user, identifier and kind, a batch commit's by its files.
func (i intent) path(place layout.Table) string {
	var b strings.Builder
	b.WriteString(safeName(i.User))
	b.WriteByte('-')
	if i.Identifier == snapshot.BatchIdentifier {
		h := xxhash.New()
		for _, f := range i.Files {
			h.WriteString(f)
			h.Write([]byte{0})
		}
		b.WriteString("batch-" + strconv.FormatUint(h.Sum64(), 16))
	} else {
		b.WriteString(strconv.FormatInt(i.Identifier, 10))
	}
	b.WriteString("-" + strings.ToLower(string(i.Kind)) + ".json")
	return path.Join(place.BranchDir(), intentDir, b.String())
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

// intents keeps the intents of one table or branch.
type intents struct {
	fio   fileio.FileIO
	place layout.Table
}

// record makes the intent durable. When one of the same commit is there already
// it returns that and records nothing.
func (s intents) record(ctx context.Context, i intent) (earlier *intent, err error) {
	const op = "recording commit intent"
	i.Version = intentVersion
	data, err := json.Marshal(i)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, op, err)
	}
	file := i.path(s.place)
	if !s.fio.Capabilities().ConditionalCreate {
		// Only a catalog commits here, and it alone decides races.
		if earlier, err := s.read(ctx, file); earlier != nil || err != nil {
			return earlier, err
		}
		return nil, tarnerr.Trace(op, s.fio.Replace(ctx, file, data), "path", file)
	}
	for {
		err := s.fio.CreateIfAbsent(ctx, file, data)
		if err == nil || tarnerr.KindOf(err) != tarnerr.AlreadyExists {
			return nil, tarnerr.Trace(op, err, "path", file)
		}
		// Gone again means that its commit has just been settled.
		if earlier, err := s.read(ctx, file); earlier != nil || err != nil {
			return earlier, err
		}
	}
}

// replace records i in place of an intent whose commit is known not to have landed.
func (s intents) replace(ctx context.Context, i intent) error {
	const op = "recording commit intent"
	i.Version = intentVersion
	data, err := json.Marshal(i)
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, op, err)
	}
	file := i.path(s.place)
	return tarnerr.Trace(op, s.fio.Replace(ctx, file, data), "path", file)
}

// read returns the intent at file, nil when there is none.
func (s intents) read(ctx context.Context, file string) (*intent, error) {
	const op = "reading commit intent"
	data, err := fileio.ReadFile(ctx, s.fio, file)
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil, nil
		}
		return nil, tarnerr.Trace(op, err, "path", file)
	}
	i := &intent{}
	if err := json.Unmarshal(data, i); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err, "path", file)
	}
	if i.Version != intentVersion {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "intent of a later release", "path", file, "version", i.Version)
	}
	return i, nil
}
