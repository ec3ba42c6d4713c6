//go:build race

package parquet

const raceDetector = true
