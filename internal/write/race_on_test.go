//go:build race

package write

const raceDetector = true
