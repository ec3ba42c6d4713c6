package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tarnlake/tarn/event"
)

// longWait is from when on a command tells that its writing waited for a compaction.
const longWait = time.Second

// warnings tells people what goes wrong beside the command, which goes on: a compaction
// that failed, rows that could not be spilled, a snapshot somebody published over.
func (a *app) warnings() *event.Listener {
	var mu sync.Mutex // it is told side by side
	clear := ""
	if f, ok := a.errOut.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		clear = "\r\x1b[K" // of a progress bar
	}
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.errOut, clear+"tarn: warning: "+format+"\n", args...)
	}
	return &event.Listener{
		Warning: func(i event.Warning) { say("%s: %s: %v", i.Table, i.Doing, i.Err) },
		CompactWait: func(i event.CompactWait) {
			if i.Elapsed < longWait {
				return
			}
			at := fmt.Sprintf("bucket %d", i.Bucket)
			if i.Partition != "" {
				at += " of " + i.Partition
			}
			say("%s: writing waited %.1f s for a compaction of %s, which had %d sorted runs (num-sorted-run.stop-trigger)",
				i.Table, i.Elapsed.Seconds(), at, i.Runs)
		},
		SnapshotDisplaced: func(i event.SnapshotDisplaced) {
			other := "it was rolled back"
			if i.OtherUser != "" {
				other = "user " + i.OtherUser + " has its id now"
			}
			say("%s: snapshot %d of user %s is not in the table any more: %s", i.Table, i.Snapshot, i.User, other)
		},
	}
}
