package option

var otherKeys = []Key{
	{Name: "alter-column-null-to-not-null.disabled", Kind: Bool, Default: "true"},
	{Name: "disable-explicit-type-casting", Kind: Bool, Default: "false"},
	{Name: "add-column-before-partition", Kind: Bool, Default: "false"},
	{Name: "file-operation.thread-num", Kind: Int, Default: Unset, Fallbacks: []string{"delete-file.thread-num"}, State: Harmless, Note: "speed"},
	{Name: "materialized-table.definition-query", Default: Unset, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.interval-freshness", Default: Unset, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.interval-freshness.time-unit", Kind: Enum, Default: Unset, Values: []string{"SECOND", "MINUTE", "HOUR", "DAY"}, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.logical-refresh-mode", Kind: Enum, Default: Unset, Values: []string{"CONTINUOUS", "FULL", "AUTOMATIC"}, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.refresh-handler-bytes", Default: Unset, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.refresh-handler-description", Default: Unset, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.refresh-mode", Kind: Enum, Default: Unset, Values: []string{"CONTINUOUS", "FULL", "AUTOMATIC"}, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "materialized-table.refresh-status", Kind: Enum, Default: Unset, Values: []string{"INITIALIZING", "ACTIVATED", "SUSPENDED"}, State: Harmless, Note: "kept by the engine that refreshes the table"},
	{Name: "metadata.iceberg.storage", Kind: Enum, Default: "disabled", Values: []string{"disabled", "table-location", "hadoop-catalog", "hive-catalog", "rest-catalog"}, State: RefusesWrites, Note: "Iceberg readers would miss what is written"},
}
