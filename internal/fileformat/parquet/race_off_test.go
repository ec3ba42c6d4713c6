//go:build !race

package parquet

const raceDetector = false
