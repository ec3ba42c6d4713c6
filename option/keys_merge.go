package option

var mergeKeys = []Key{
	{Name: "merge-engine", Kind: Enum, Default: "deduplicate", Values: []string{"deduplicate", "partial-update", "aggregation", "first-row"}, Immutable: true, Note: "of first-row, a writer refuses -U and -D that are not ignored, which Java takes and can then not compact"},
	{Name: "sequence.field", Default: Unset, Note: "several columns, separated by commas"},
	{Name: "sequence.field.sort-order", Kind: Enum, Default: "ascending", Values: []string{"ascending", "descending"}},
	{Name: "rowkind.field", Default: Unset, Immutable: true},
	{Name: "ignore-delete", Kind: Bool, Default: "false", Fallbacks: []string{"first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"}, Note: "-D rows are dropped when they are written"},
	{Name: "ignore-update-before", Kind: Bool, Default: "false", Note: "-U rows are dropped when they are written"},
	{Name: "changelog-producer", Kind: Enum, Default: "none", Values: []string{"none", "input", "full-compaction", "lookup"}, Note: "full-compaction tells at each full compaction: see full-compaction.delta-commits"},
	{Name: "changelog-producer.row-deduplicate", Kind: Bool, Default: "false"},
	{Name: "changelog-producer.row-deduplicate-ignore-fields", Default: Unset, Note: "columns, separated by commas without spaces; one that does not exist means nothing"},
	{Name: "aggregation.remove-record-on-delete", Kind: Bool, Default: "false", Immutable: true},
	{Name: "partial-update.remove-record-on-delete", Kind: Bool, Default: "false", Immutable: true},
	{Name: "partial-update.remove-record-on-sequence-group", Default: Unset, Immutable: true},
	{Name: "fields.default-aggregate-function", Default: Unset},
	{Name: "force-lookup", Kind: Bool, Default: "false", Immutable: true, Note: "beside changelog-producer=full-compaction compactions are refused, and writes that may compact"},
	{Name: "lookup-wait", Kind: Bool, Default: "true", Fallbacks: []string{"changelog-producer.lookup-wait"}, Note: "commits of a stream wait for the compaction that looks up, and fail when it cannot fold their rows"},
	{Name: "delete.force-produce-changelog", Kind: Bool, Default: "false", State: Harmless, Note: "no changelog is produced"},
	{Name: "local-merge-buffer-size", Kind: Size, Default: Unset, State: Harmless, Note: "a merge before Flink's shuffle"},
	{Name: "table-read.sequence-number.enabled", Kind: Bool, Default: "false", State: Harmless, Note: "columns of the audit log, which this version does not have"},
	{Name: "key-value.sequence_number.enabled", Kind: Bool, Default: "false", State: RefusesReads},
	{Name: "pk-clustering-override", Kind: Bool, Default: "false", Immutable: true, State: RefusesReads},
}
