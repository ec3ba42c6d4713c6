//go:build !race

package maintain

const raceDetector = false
