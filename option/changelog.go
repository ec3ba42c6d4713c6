package option

// Changelog are the options of what tells how a table's rows changed.
type Changelog struct {
	Producer     string   // "none", "input", "full-compaction" or "lookup"
	Deduplicate  bool     // an update that changes no value is none
	IgnoreFields []string // columns that Deduplicate does not look at
	Lookup       bool     // compactions look up what rows were before, for the changelog or for readers
	LookupWait   bool     // a commit waits for the compaction that looks up
	Prefix       string
	Format       string // "" = that of data files
	Compression  string // lower case, "" = that of data files
	StatsMode    string // "" = that of data files
}

func (r *reader) changelog() Changelog {
	return Changelog{
		Producer: r.word("changelog-producer"), Deduplicate: r.bool("changelog-producer.row-deduplicate"),
		IgnoreFields: r.list("changelog-producer.row-deduplicate-ignore-fields", false), Lookup: r.needsLookup(), LookupWait: r.bool("lookup-wait"),
		Prefix: r.text("changelog-file.prefix"), Format: r.word("changelog-file.format"),
		Compression: r.word("changelog-file.compression"), StatsMode: r.word("changelog-file.stats-mode"),
	}
}

// ChangelogFormatAt is the format of changelog files of an LSM level.
func (o *Options) ChangelogFormatAt(level int) string {
	if o.Changelog.Format != "" {
		return o.Changelog.Format
	}
	return o.FormatAt(level)
}
