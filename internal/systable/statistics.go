package systable

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var statisticFields = fieldsOf(
	column("snapshot_id", bigint),
	column("schema_id", bigint),
	nullable("mergedRecordCount", bigint),
	nullable("mergedRecordSize", bigint),
	nullable("colstat", text),
)

// statisticRows is the one row of the statistics that ANALYZE left for a
// snapshot, or that it inherited.
func statisticRows(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		s, err := snapshotOf(ctx, cfg, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if s == nil || s.Statistics == nil {
			return
		}
		path := cfg.Layout.StatisticsFile(*s.Statistics)
		data, err := fileio.ReadFile(ctx, cfg.FileIO, path)
		if err != nil {
			yield(nil, tarnerr.Trace("reading statistics", err, "path", path))
			return
		}
		r, err := statisticRow(data)
		if err != nil {
			yield(nil, tarnerr.Wrap(tarnerr.Corrupt, "reading statistics", err, "path", path))
			return
		}
		yield(r, nil)
	}
}

func statisticRow(data []byte) (row, error) {
	var in struct {
		SnapshotID        int64           `json:"snapshotId"`
		SchemaID          int64           `json:"schemaId"`
		MergedRecordCount *int64          `json:"mergedRecordCount"`
		MergedRecordSize  *int64          `json:"mergedRecordSize"`
		ColStats          json.RawMessage `json:"colStats"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	r := row{in.SnapshotID, in.SchemaID, optional(in.MergedRecordCount), optional(in.MergedRecordSize), nil}
	if in.ColStats != nil {
		shown, err := javaPretty(in.ColStats)
		if err != nil {
			return nil, err
		}
		r[4] = shown
	}
	return r, nil
}

// javaPretty prints a JSON object of scalars and objects as Jackson's default
// pretty printer does, members in the order they have.
func javaPretty(raw []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out []byte
	var open []int // members so far of each open object
	name := false  // the next token is a member's name
	for {
		tok, err := d.Token()
		if err != nil {
			return "", err
		}
		if tok == json.Delim('}') {
			if open[len(open)-1] > 0 {
				out = append(out, "\n"+strings.Repeat("  ", len(open)-1)...)
			} else {
				out = append(out, ' ')
			}
			open, name = open[:len(open)-1], true
			out = append(out, '}')
		} else if name {
			if open[len(open)-1]++; open[len(open)-1] > 1 {
				out = append(out, ',')
			}
			out = append(out, "\n"+strings.Repeat("  ", len(open))...)
			out = append(types.AppendJSONString(out, tok.(string)), " : "...)
			name = false
			continue
		} else {
			name = true
			switch v := tok.(type) {
			case json.Delim:
				if v != '{' {
					return "", tarnerr.New(tarnerr.Corrupt, "printing JSON", "neither object nor scalar", "token", v)
				}
				open = append(open, 0)
				out = append(out, '{')
			case string:
				out = types.AppendJSONString(out, v)
			case json.Number:
				out = append(out, v...)
			case bool:
				if out = append(out, "false"...); v {
					out = append(out[:len(out)-5], "true"...)
				}
			default:
				out = append(out, "null"...)
			}
		}
		if len(open) == 0 {
			return string(out), nil
		}
	}
}
