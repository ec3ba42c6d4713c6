//go:build race

package avro

const raceDetector = true
