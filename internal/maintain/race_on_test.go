//go:build race

package maintain

const raceDetector = true
