//go:build race

package commit_test

// racing: what one goroutine does alone is done a few times only.
const (
	racing = true
	fewer  = 1
)
