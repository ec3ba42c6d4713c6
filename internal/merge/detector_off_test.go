//go:build !race

package merge

const raceDetector = false
