//go:build !race

package write

const raceDetector = false
