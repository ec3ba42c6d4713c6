package metamorphic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// file is what a table says of one of its data files.
type file struct {
	partition      string
	level, records int64
	min, max       int64 // key
}

// hides takes the rows from want that a first-row table does not show at a snapshot:
// those that are first of their key and in a file of level 0. It shows all that are
// above, as many as there are rows, for each is the only one of its key there.
func (r *run) hides(id int64, got, want map[string]string) error {
	if err := r.begins(got); err != nil {
		return err
	}
	files, err := r.filesOf(id)
	if err != nil {
		return err
	}
	above := map[string]int64{}
	var fresh []file
	for _, f := range files {
		if f.level == 0 {
			fresh = append(fresh, f)
		} else {
			above[f.partition] += f.records
		}
	}
	last, next := -1, -1 // of rows shown the last one that came, of others the first
	for key := range want {
		partition, k, err := r.split(key)
		if err != nil {
			return err
		}
		came := r.came[key]
		if _, shows := got[key]; shows {
			above[partition]--
			last = max(last, came)
			continue
		}
		delete(want, key)
		if next < 0 || came < next {
			next = came
		}
		covered := false
		for _, f := range fresh {
			covered = covered || f.partition == partition && f.min <= k && k <= f.max
		}
		if !covered {
			return fmt.Errorf("key %s does not show, and no file of level 0 can have it: %+v", key, files)
		}
	}
	for partition, n := range above {
		if n != 0 {
			return fmt.Errorf("%d rows more in files of partition %q above level 0 than show: %+v", n, partition, files)
		}
	}
	if one := r.h.config[buckets] == "1" && r.h.config[partitions] == "no"; one && next >= 0 && next < last {
		return fmt.Errorf("row %d shows, but row %d does not", last, next)
	}
	return nil
}

// split is the partition and the rest of a key.
func (r *run) split(key string) (partition string, k int64, err error) {
	partition, rest, ok := strings.Cut(key, "/")
	if !ok {
		partition, rest = "", key
	}
	k, err = strconv.ParseInt(rest, 10, 64)
	return partition, k, err
}

func (r *run) filesOf(id int64) (out []file, err error) {
	columns := []string{"partition", "level", "record_count", "min_key", "max_key"}
	reader, err := r.files.Scan(r.ctx, table.Scan{SnapshotID: id, Columns: columns})
	if err != nil {
		return nil, err
	}
	bare := func(text any) string { s, _ := text.(string); return strings.Trim(s, "{}[]") }
	var fields []types.Field
	for _, name := range columns {
		fields = append(fields, r.files.Schema().Fields[r.files.Schema().Index(name)])
	}
	err = r.each(reader, fields, false, func(row oracle.Row) error {
		v := row.Values
		f := file{partition: bare(v[0]), level: v[1].(int64), records: v[2].(int64)}
		var err error
		if f.min, err = strconv.ParseInt(bare(v[3]), 10, 64); err == nil {
			f.max, err = strconv.ParseInt(bare(v[4]), 10, 64)
		}
		out = append(out, f)
		return err
	})
	return out, err
}
