package option

import "strings"

// Pattern is a family of keys: a prefix, something that names a column or a
// codec setting, and a suffix.
type Pattern struct {
	Prefix, Suffix string
	State          State
	Note           string
}

// String shows the pattern with a star for what varies.
func (p Pattern) String() string { return p.Prefix + "*" + p.Suffix }

// patterns in the order docs/options.md prints them; the first that fits counts.
var patterns = []Pattern{
	{"fields.", ".stats-mode", Honoured, "statistics of one column"},
	{"fields.", ".aggregate-function", Honoured, "of one column"},
	{"fields.", ".ignore-retract", Honoured, "of one column"},
	{"fields.", ".distinct", Honoured, "collect, listagg"},
	{"fields.", ".list-agg-delimiter", Honoured, "listagg"},
	{"fields.", ".nested-key", Honoured, "nested_update, nested_partial_update"},
	{"fields.", ".count-limit", Honoured, "nested_update"},
	{"fields.", ".ts-field", Honoured, "merge_map_with_keytime"},
	{"fields.", ".sequence-group", Honoured, "of one or several sequence columns"},
	{"fields.", "", Harmless, "settings of columns for other merge engines"},
	{"file-index.", "", Harmless, "no index is written; a missing index changes no result"},
	{"parquet.", "", Honoured, "compression, codec level, page size and rows, block size, dictionary; all others are kept and change no value"},
	{"orc.", "", Harmless, "settings of the writer, and ORC is not written"},
	{"avro.", "", Honoured, "codec; all others are kept and change no value"},
	{"metadata.iceberg.", "", Harmless, "the Iceberg face is refused by metadata.iceberg.storage"},
}

// Patterns yields a copy of the families of keys.
func Patterns() []Pattern { return append([]Pattern(nil), patterns...) }

// match finds the family of a key that is not in the table.
func match(name string) (Pattern, bool) {
	for _, p := range patterns {
		if strings.HasPrefix(name, p.Prefix) && strings.HasSuffix(name, p.Suffix) &&
			len(name) > len(p.Prefix)+len(p.Suffix) {
			return p, true
		}
	}
	return Pattern{}, false
}
