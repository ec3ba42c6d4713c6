//go:build race

package fanin

const raceDetector = true
