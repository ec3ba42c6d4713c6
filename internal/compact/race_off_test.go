//go:build !race

package compact

const raceDetector = false
