//go:build !race

package paimon_test

const raceDetector = false
