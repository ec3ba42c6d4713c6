//go:build race

package metamorphic

const raceDetector = true
