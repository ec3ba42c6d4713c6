package paimon

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/table"
)

// minFresh is how often at most a consumer is written anew, however soon it expires.
const minFresh = time.Second

// progress is how far a follower's consumer has come.
type progress struct {
	consumer string    // "" for none
	noted    int64     // snapshot that the consumer's file says it reads next, 0 for none
	written  time.Time // when noted was written or seen last, zero where that is not known
	owed     bool      // changes were handed out that are not acknowledged
}

// Noted implements table.Follower.
func (f *follower) Noted() int64 { return f.noted }

// resume begins where the consumer is.
func (f *follower) resume(ctx context.Context) error {
	o := f.options.Stream
	if f.consumer == "" {
		f.consumer = o.Consumer
	}
	if f.consumer == "" {
		return nil
	}
	next, err := f.snapshots.Consumers().Get(ctx, f.consumer)
	if err != nil {
		return err
	}
	if f.noted = next; next > 0 && !o.IgnoreProgress && f.from.Mode != table.StartAt {
		f.from = table.Start{Mode: table.StartAt, Snapshot: next}
	}
	return nil
}

// Acknowledge implements table.Follower.
func (f *follower) Acknowledge(ctx context.Context) error {
	if f.err != nil {
		return f.err
	}
	f.owed = false
	if err := f.note(ctx); err != nil {
		return f.trace(err)
	}
	return nil
}

// note writes how far the consumer has come.
func (f *follower) note(ctx context.Context) error {
	if f.owed || f.next == 0 || f.next == f.noted {
		return f.refresh(ctx)
	}
	return f.set(ctx, f.next)
}

// hold has a consumer that is not noted yet begin at a snapshot, so that expiry
// keeps it while its changes are read. Not while the rows of a whole state are
// owed: they come again only where there is no consumer.
func (f *follower) hold(ctx context.Context, id int64) error {
	if f.noted > 0 || f.owed {
		return f.refresh(ctx)
	}
	return f.set(ctx, id)
}

func (f *follower) set(ctx context.Context, next int64) error {
	if f.consumer == "" {
		return nil
	}
	if err := f.snapshots.Consumers().Set(ctx, f.consumer, next); err != nil {
		return err
	}
	f.noted, f.written = next, f.components.Env.Now()
	return nil
}

// fresh is after how long a consumer's file is written anew, whose age is what
// consumers expire by; 0 for never.
func (f *follower) fresh() time.Duration {
	if e := f.options.Stream.ConsumerExpiration; e > 0 && f.consumer != "" {
		return max(e/4, minFresh)
	}
	return 0
}

// refresh writes anew what is noted before it is old. Java's readers do so at each
// checkpoint, and thereby bring back a consumer that somebody has deleted or reset;
// here only progress does.
func (f *follower) refresh(ctx context.Context) error {
	after := f.fresh()
	if after == 0 || f.noted == 0 || f.components.Env.Now().Sub(f.written) < after {
		return nil
	}
	there, err := f.snapshots.Consumers().Get(ctx, f.consumer)
	if err != nil {
		return err
	}
	if there != f.noted {
		f.written = f.components.Env.Now()
		return nil
	}
	return f.set(ctx, f.noted)
}
