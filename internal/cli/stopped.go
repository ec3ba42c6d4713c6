package cli

import (
	"context"
	"errors"

	"github.com/tarnlake/tarn/tarnerr"
)

// errSignal is why a command of its own signals, such as the shell, ended. Main
// cannot go by its own context there: each of several that end with one signal
// ends in its own time.
var errSignal = errors.New("stopped by a signal")

// stopped reports that err is the end of a command, or of what ctx bounds, that a
// signal stopped. What is not known to be undone is more than that.
func stopped(ctx context.Context, err error) bool {
	if tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
		return false
	}
	return errors.Is(err, errSignal) || ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// stoppedText says what was stopped, and what is left of it where err knows.
func stoppedText(err error) string {
	var e *tarnerr.Error
	if !errors.As(err, &e) {
		return "cancelled"
	}
	return (&tarnerr.Error{Op: "cancelled while " + e.Op, Attr: e.Attr, Hint: tarnerr.Hint(err)}).Error()
}
