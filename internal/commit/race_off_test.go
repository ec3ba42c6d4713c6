//go:build !race

package commit_test

const (
	racing = false
	fewer  = 0
)
