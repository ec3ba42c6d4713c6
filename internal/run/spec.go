package run

import (
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// SpecOf is what a table's schema and options say about its data files of one
// level, append files being of level 0. The caller adds what writes them: FileIO,
// Format with the ending of the names, Env, Mem and Names.
func SpecOf(s *schema.Schema, o *option.Options, level int, source datafile.Source) (FileSpec, error) {
	stats, err := StatsAt(s, o, level)
	if err != nil {
		return FileSpec{}, err
	}
	out := FileSpec{
		Values: s.Fields, SchemaID: s.ID, Level: int32(level), Source: source, Stats: stats,
		Encoding: fileformat.WriteOptions{
			Compression: o.CompressionAt(level), ZstdLevel: o.ZstdLevel, Options: s.Options,
		},
		TargetSize: o.TargetFileSize(s.HasPrimaryKey()), Prefix: o.DataFilePrefix,
	}
	if o.RowTracking {
		out.Tracking = Untold
		if source == datafile.Compact {
			out.Tracking = Carried
		}
	}
	if s.HasPrimaryKey() {
		out.Keys, out.Thin = s.Select(s.TrimmedPrimaryKeys()), o.ThinMode
	}
	return out, nil
}

// StatsAt is what the files of a level keep of statistics.
func StatsAt(s *schema.Schema, o *option.Options, level int) (StatsOptions, error) {
	out := StatsOptions{KeepFirstN: o.StatsKeepFirstNColumns, Dense: o.StatsDense, PerColumn: map[string]StatsMode{}}
	var err error
	if out.Mode, err = ParseStatsMode(o.StatsModeAt(level)); err != nil {
		return out, err
	}
	for _, f := range s.Fields {
		text, ok := o.ColumnStatsMode(f.Name)
		if !ok {
			continue
		}
		if out.PerColumn[f.Name], err = ParseStatsMode(text); err != nil {
			return out, tarnerr.Trace("reading option", err, "column", f.Name)
		}
	}
	return out, nil
}
