package types

// Value is one non-nested value in Go form, nil for null, as keys, partitions,
// statistics and literals use it away from hot paths:
//
//	BOOLEAN                        bool
//	TINYINT, SMALLINT, INT, BIGINT int64
//	FLOAT                          float32
//	DOUBLE                         float64
//	DECIMAL                        decimal128.Num (unscaled)
//	CHAR, VARCHAR                  string
//	BINARY, VARBINARY, BLOB …      []byte
//	DATE                           int32, days since 1970-01-01
//	TIME                           int32, milliseconds of the day
//	TIMESTAMP, TIMESTAMP_LTZ       Instant
type Value = any

// Instant is a timestamp as BinaryRow stores it.
type Instant struct {
	Millis      int64 // since 1970-01-01T00:00, floor
	NanoOfMilli int32 // 0–999999
}
