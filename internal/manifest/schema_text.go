package manifest

import "sync"

// The Avro schemas Paimon 1.4.2 writes, byte for byte as it embeds them.

// statsSchema is a SimpleStats record named after the column that holds it.
func statsSchema(name string) string {
	return `{"type":"record","name":"` + name + `","fields":[` +
		`{"name":"_MIN_VALUES","type":"bytes"},` +
		`{"name":"_MAX_VALUES","type":"bytes"},` +
		`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}`
}

const schemaHead = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[`

// entrySchema is the schema of manifests.
var entrySchema = sync.OnceValue(func() string {
	return schemaHead +
		`{"name":"_VERSION","type":"int"},` +
		`{"name":"_KIND","type":"int"},` +
		`{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},` +
		`{"name":"_TOTAL_BUCKETS","type":"int"},` +
		`{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},` +
		`{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_MIN_KEY","type":"bytes"},` +
		`{"name":"_MAX_KEY","type":"bytes"},` +
		`{"name":"_KEY_STATS","type":` + statsSchema("record__FILE__KEY_STATS") + `},` +
		`{"name":"_VALUE_STATS","type":` + statsSchema("record__FILE__VALUE_STATS") + `},` +
		`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},` +
		`{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},` +
		`{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_LEVEL","type":"int"},` +
		`{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
		`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
		`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},` +
		`{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
		`{"name":"_FILE_SOURCE","type":["null","int"],"default":null},` +
		`{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},` +
		`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
		`{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}`
})

// listSchema is the schema of manifest lists.
var listSchema = sync.OnceValue(func() string {
	return schemaHead +
		`{"name":"_VERSION","type":"int"},` +
		`{"name":"_FILE_NAME","type":"string"},` +
		`{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_NUM_ADDED_FILES","type":"long"},` +
		`{"name":"_NUM_DELETED_FILES","type":"long"},` +
		`{"name":"_PARTITION_STATS","type":` + statsSchema("record__PARTITION_STATS") + `},` +
		`{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_MIN_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MAX_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MIN_LEVEL","type":["null","int"],"default":null},` +
		`{"name":"_MAX_LEVEL","type":["null","int"],"default":null},` +
		`{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}`
})

// indexSchema is the schema of index manifests.
var indexSchema = sync.OnceValue(func() string {
	return schemaHead +
		`{"name":"_VERSION","type":"int"},` +
		`{"name":"_KIND","type":"int"},` +
		`{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},` +
		`{"name":"_INDEX_TYPE","type":"string"},` +
		`{"name":"_FILE_NAME","type":"string"},` +
		`{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",` +
		`{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[` +
		`{"name":"f0","type":"string"},` +
		`{"name":"f1","type":"int"},` +
		`{"name":"f2","type":"int"},` +
		`{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},` +
		`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
		`{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX","fields":[` +
		`{"name":"_ROW_RANGE_START","type":"long"},` +
		`{"name":"_ROW_RANGE_END","type":"long"},` +
		`{"name":"_INDEX_FIELD_ID","type":"int"},` +
		`{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},` +
		`{"name":"_INDEX_META","type":["null","bytes"],"default":null}]}],"default":null}]}`
})

// Versions in the _VERSION column.
const (
	entryVersion = 2 // manifests and manifest lists
	indexVersion = 1 // index manifests
)
