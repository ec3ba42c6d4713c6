package run

import (
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
)

// ChangelogSpecOf is what a table's schema and options say about its changelog
// files of one level: what they say about data files, but for the options
// changelog-file.*. The caller adds what writes them, as to [SpecOf]; the format
// is that of [option.Options.ChangelogFormatAt]. Source: paimon-core
// io/KeyValueFileWriterFactory.
func ChangelogSpecOf(s *schema.Schema, o *option.Options, level int) (FileSpec, error) {
	out, err := SpecOf(s, o, level, datafile.Append)
	if err != nil {
		return out, err
	}
	c := o.Changelog
	out.Prefix = c.Prefix
	if c.Compression != "" {
		out.Encoding.Compression = c.Compression
	}
	if c.StatsMode != "" {
		out.Stats.Mode, err = ParseStatsMode(c.StatsMode)
	}
	return out, err
}
