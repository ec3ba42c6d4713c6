package parquet

import (
	"context"
	"sort"

	"golang.org/x/sync/errgroup"
)

// readPlan bounds what is read at a time.
type readPlan struct {
	window int64 // of a large column chunk
	limit  int64 // row groups of which less is wanted are read in few requests
	gap    int64 // bytes nobody wants that one request may carry along
}

var defaultPlan = readPlan{window: 4 << 20, limit: 16 << 20, gap: 128 << 10}

// gatherParts bounds the requests in flight at once.
const gatherParts = 4

// stream gives the bytes of one column chunk. Not safe for concurrent use.
type stream struct {
	file   *File
	end    int64     // of the chunk
	loaded []segment // read ahead with others', by offset
	cur    segment   // read for this stream alone
	next   chan fetched
	cancel context.CancelFunc
}

type segment struct {
	off  int64
	data []byte
}

type fetched struct {
	segment
	err error
}

func (s segment) view(off, n int64) ([]byte, bool) {
	if off < s.off || off+n > s.off+int64(len(s.data)) {
		return nil, false
	}
	return s.data[off-s.off : off-s.off+n], true
}

// at gives n bytes from off, which must lie in the chunk. The view is valid
// until the next call.
func (s *stream) at(ctx context.Context, off, n int64) ([]byte, error) {
	if b, ok := s.cur.view(off, n); ok {
		return b, nil
	}
	if i := sort.Search(len(s.loaded), func(i int) bool { return s.loaded[i].off > off }) - 1; i >= 0 {
		if b, ok := s.loaded[i].view(off, n); ok {
			return b, nil
		}
	}
	if b, ok := (segment{s.file.tailOff, s.file.tail}).view(off, n); ok {
		return b, nil
	}
	if err := s.advance(ctx, off, n); err != nil {
		return nil, err
	}
	b, _ := s.cur.view(off, n)
	return b, nil
}

// advance makes the current segment cover n bytes from off, and starts reading
// what follows while these are decoded.
func (s *stream) advance(ctx context.Context, off, n int64) error {
	var data []byte
	if end := s.cur.off + int64(len(s.cur.data)); off >= s.cur.off && off < end {
		data = append(data, s.cur.data[off-s.cur.off:]...)
	}
	if s.next != nil {
		f := <-s.next
		s.stop()
		if f.err == nil && f.off == off+int64(len(data)) {
			data = append(data, f.data...)
		}
		// A failed read ahead is repeated below, where its error counts.
	}
	if missing := n - int64(len(data)); missing > 0 {
		from := off + int64(len(data))
		more := make([]byte, min(max(missing, s.file.plan.window), s.end-from))
		if err := s.file.readAt(ctx, more, from); err != nil {
			return err
		}
		if len(data) == 0 {
			data = more
		} else {
			data = append(data, more...)
		}
	}
	s.cur = segment{off, data}
	if from := off + int64(len(data)); from < s.end {
		s.readAhead(ctx, from)
	}
	return nil
}

func (s *stream) readAhead(ctx context.Context, from int64) {
	ctx, s.cancel = context.WithCancel(ctx)
	next := make(chan fetched, 1)
	s.next = next
	f, n := s.file, min(s.file.plan.window, s.end-from)
	go func() {
		out := fetched{segment: segment{from, make([]byte, n)}}
		out.err = f.readAt(ctx, out.data, from)
		next <- out
	}()
}

// stop forgets the read ahead, which must have ended.
func (s *stream) stop() {
	s.cancel()
	s.next, s.cancel = nil, nil
}

// close waits for the read ahead, so that nothing runs on after it.
func (s *stream) close() {
	if s.next != nil {
		s.cancel()
		<-s.next
		s.stop()
	}
	s.cur, s.loaded = segment{}, nil
}

// gather reads spans of several columns with few requests: neighbours are
// joined over small gaps, what the tail holds is not read again. It gives
// nothing when the spans are too large to be held at once.
func (f *File) gather(ctx context.Context, spans []span) ([]segment, error) {
	sort.Slice(spans, func(i, j int) bool { return spans[i].off < spans[j].off })
	var parts []span
	var total int64
	for _, sp := range spans {
		if sp.n == 0 || sp.off >= f.tailOff {
			continue
		}
		sp.n = min(sp.n, f.tailOff-sp.off)
		if len(parts) > 0 {
			last := &parts[len(parts)-1]
			if end := last.off + last.n; sp.off <= end+f.plan.gap {
				total -= last.n
				last.n = max(end, sp.off+sp.n) - last.off
				total += last.n
				continue
			}
		}
		parts = append(parts, sp)
		total += sp.n
	}
	if total > f.plan.limit {
		return nil, nil
	}
	out := make([]segment, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(gatherParts)
	for i, p := range parts {
		out[i] = segment{p.off, make([]byte, p.n)}
		group.Go(func() error { return f.readAt(ctx, out[i].data, p.off) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// A chunk that reaches into the tail is whole in one view.
	if n := len(out); n > 0 && out[n-1].off+int64(len(out[n-1].data)) == f.tailOff {
		out[n-1].data = append(out[n-1].data, f.tail...)
	}
	return out, nil
}
