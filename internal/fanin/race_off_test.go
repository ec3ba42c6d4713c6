//go:build !race

package fanin

const raceDetector = false
