package snapshot

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// A consumer's file is written in place on stores without an atomic rename, so
// that one that does not parse is read again, as often as Java does.
const (
	consumerAttempts = 3
	consumerWait     = 100 * time.Millisecond
)

// Consumers are the places that named readers of a table's or branch's changes
// have reached. Expiry leaves the snapshots from the lowest of them on, so that
// none misses a change. Safe for concurrent use; of two readers of one name the
// last to write counts.
type Consumers struct{ of *Store }

// Consumer is a named reader and the snapshot that it reads next.
type Consumer struct {
	ID   string
	Next int64
}

// Consumers gives the consumers of the table or branch whose snapshots s has.
func (s *Store) Consumers() Consumers { return Consumers{s} }

// CheckConsumer refuses ids that cannot be part of a file's name.
func CheckConsumer(id string) error {
	why := ""
	switch {
	case strings.TrimSpace(id) == "":
		why = "empty id"
	case strings.ContainsAny(id, `/\`):
		why = "id with a path separator"
	case strings.ContainsFunc(id, unicode.IsControl):
		why = "id with a control character"
	default:
		return nil
	}
	return tarnerr.New(tarnerr.Invalid, "reading consumer id", why, "consumer", id).
		WithHint("Name a consumer with letters, digits and -_.")
}

// Get is the snapshot that a consumer reads next, 0 when there is no such consumer.
func (c Consumers) Get(ctx context.Context, id string) (next int64, err error) {
	if err := CheckConsumer(id); err != nil {
		return 0, err
	}
	next, err = c.read(ctx, id)
	return next, tarnerr.Trace("reading consumer", err, "consumer", id)
}

// All lists the consumers by id. It lists their directory and reads each; what
// goes meanwhile is passed over.
func (c Consumers) All(ctx context.Context) ([]Consumer, error) {
	const op = "listing consumers"
	var out []Consumer
	for e, err := range fileio.All(ctx, c.of.fio, c.of.table.ConsumerDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace(op, err)
		}
		if id, ok := strings.CutPrefix(path.Base(e.Path), layout.ConsumerPrefix); ok && id != "" && !e.IsDir {
			out = append(out, Consumer{ID: id})
		}
	}
	for i := range out {
		var err error
		if out[i].Next, err = c.read(ctx, out[i].ID); err != nil {
			return nil, tarnerr.Trace(op, err, "consumer", out[i].ID)
		}
	}
	out = slices.DeleteFunc(out, func(c Consumer) bool { return c.Next == 0 })
	slices.SortFunc(out, func(a, b Consumer) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Set notes the snapshot that a consumer reads next; the consumer is made when it
// is not there.
func (c Consumers) Set(ctx context.Context, id string, next int64) error {
	if err := CheckConsumer(id); err != nil {
		return err
	}
	return tarnerr.Trace("writing consumer", c.of.fio.Replace(ctx, c.of.table.ConsumerFile(id), marshalConsumer(next)), "consumer", id)
}

// Delete removes a consumer; that there is none is no error.
func (c Consumers) Delete(ctx context.Context, id string) error {
	if err := CheckConsumer(id); err != nil {
		return err
	}
	return tarnerr.Trace("deleting consumer", c.of.fio.Delete(ctx, c.of.table.ConsumerFile(id)), "consumer", id)
}

// read reads a consumer's file, 0 when there is none.
func (c Consumers) read(ctx context.Context, id string) (int64, error) {
	file := c.of.table.ConsumerFile(id)
	for attempt := 1; ; attempt++ {
		data, err := fileio.ReadFile(ctx, c.of.fio, file)
		if tarnerr.KindOf(err) == tarnerr.NotFound && err != nil {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		next, err := parseConsumer(data)
		if err == nil {
			return next, nil
		}
		if attempt == consumerAttempts || c.of.env.Sleep(ctx, consumerWait) != nil {
			return 0, tarnerr.Trace("reading consumer", err, "path", file)
		}
	}
}

// marshalConsumer gives the bytes that Java writes.
func marshalConsumer(next int64) []byte {
	w := objectWriter{buf: []byte{'{'}}
	w.int("nextSnapshot", next)
	return w.end()
}

// parseConsumer reads a consumer's file. Unknown fields are ignored.
func parseConsumer(data []byte) (next int64, err error) {
	const op = "reading consumer"
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return 0, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	r := objectReader{members: members, op: op}
	r.need("nextSnapshot", &next)
	if r.err == nil && next < 1 {
		r.err = tarnerr.New(tarnerr.Corrupt, op, "snapshot ids begin with 1", "nextSnapshot", next)
	}
	return next, r.err
}

// OlderThan lists the ids of consumers whose files were last written before a time,
// in milliseconds since 1970. It lists their directory.
func (c Consumers) OlderThan(ctx context.Context, millis int64) ([]string, error) {
	var out []string
	for e, err := range fileio.All(ctx, c.of.fio, c.of.table.ConsumerDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace("listing consumers", err)
		}
		if id, ok := strings.CutPrefix(path.Base(e.Path), layout.ConsumerPrefix); ok && id != "" && !e.IsDir && e.ModMilli < millis {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}
