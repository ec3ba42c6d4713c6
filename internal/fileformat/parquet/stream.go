package parquet

import (
	"context"
	"sort"

	"github.com/tarnlake/tarn/internal/batch"
)

// readPlan bounds what is read at a time.
type readPlan struct {
	least, most int64 // of a large column chunk
	limit       int64 // row groups of which less is wanted are read in few requests
	gap         int64 // bytes nobody wants that one request may carry along
}

// leastHeld is the least that is read at a time where memory is short: less would be
// many requests for a page.
const leastHeld = 32 << 10

var defaultPlan = readPlan{least: 1 << 20, most: 4 << 20, limit: 16 << 20, gap: 128 << 10}

// within is the plan of one who may hold so many bytes, half of them read ahead; 0 is
// no limit but its own. The columns share it however many they are.
func (p readPlan) within(hold int64) readPlan {
	if hold > 0 {
		p.limit, p.least = min(p.limit, hold/2), min(p.least, leastHeld)
	}
	return p
}

// window is how much is read at a time of each of the columns read side by side.
func (p readPlan) window(columns int) int64 {
	return min(max(p.limit/int64(max(columns, 1)), p.least), p.most)
}

// gatherParts bounds the requests in flight at once.
const gatherParts = 4

// stream gives the bytes of one column chunk. Not safe for concurrent use.
type stream struct {
	file   *File
	window int64     // of the chunk that is read at a time
	end    int64     // of the chunk
	loaded []segment // read ahead with others', by offset
	cur    segment   // read for this stream alone
	next   chan fetched
	cancel context.CancelFunc
	// recycle: nobody looks at a segment after the next call of at.
	recycle bool
}

// segment is a part of a file. The data may lie within a buffer that is used again.
type segment struct {
	off    int64
	data   []byte
	buffer []byte
}

func (s *segment) give() {
	batch.GiveBuffer(s.buffer)
	*s = segment{}
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
	if b, ok := (segment{off: s.file.tailOff, data: s.file.tail}).view(off, n); ok {
		return b, nil
	}
	if err := s.advance(ctx, off, n); err != nil {
		return nil, err
	}
	b, _ := s.cur.view(off, n)
	return b, nil
}

// headroom is left before what is read ahead for the end of the segment before,
// a page that reaches into both.
func (s *stream) headroom() int { return int(min(512<<10, s.window)) }

// advance makes the current segment cover n bytes from off, and starts reading
// what follows while these are decoded.
func (s *stream) advance(ctx context.Context, off, n int64) error {
	old := s.cur
	var begun []byte // of what is wanted
	if end := old.off + int64(len(old.data)); off >= old.off && off < end {
		begun = old.data[off-old.off:]
	}
	cur := segment{off: off, data: begun}
	if s.next != nil {
		f := <-s.next
		s.stop()
		if f.err == nil && f.off == off+int64(len(begun)) {
			cur = f.behind(begun, s.headroom())
		} else {
			f.give() // a failed read ahead is repeated below, where its error counts
		}
	}
	if missing := n - int64(len(cur.data)); missing > 0 {
		from := off + int64(len(cur.data))
		more := min(max(missing, s.window), s.end-from)
		whole := batch.TakeBuffer(len(cur.data) + int(more))
		copy(whole, cur.data)
		if err := s.file.ReadAt(ctx, whole[len(cur.data):], from); err != nil {
			return err
		}
		if cur.buffer != nil {
			cur.give()
		}
		cur = segment{off, whole, whole}
	}
	if s.recycle {
		old.give()
	}
	s.cur = cur
	if from := off + int64(len(cur.data)); from < s.end {
		s.readAhead(ctx, from)
	}
	return nil
}

// behind puts what was read behind the bytes that come before it, which the
// headroom may have room for.
func (f *fetched) behind(before []byte, headroom int) segment {
	off := f.off - int64(len(before))
	if at := headroom - len(before); at >= 0 {
		copy(f.buffer[at:], before)
		return segment{off, f.buffer[at:], f.buffer}
	}
	whole := batch.TakeBuffer(len(before) + len(f.data))
	copy(whole[copy(whole, before):], f.data)
	f.give()
	return segment{off, whole, whole}
}

func (s *stream) readAhead(ctx context.Context, from int64) {
	ctx, s.cancel = context.WithCancel(ctx)
	next := make(chan fetched, 1)
	s.next = next
	f, headroom, n := s.file, s.headroom(), min(s.window, s.end-from)
	go func() {
		buffer := batch.TakeBuffer(headroom + int(n))
		out := fetched{segment: segment{from, buffer[headroom:], buffer}}
		out.err = f.ReadAt(ctx, out.data, from)
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
		f := <-s.next
		f.give()
		s.stop()
	}
	if s.recycle {
		s.cur.give()
	}
	s.cur, s.loaded = segment{}, nil
}

// gather reads spans of several columns with few requests: neighbours are
// joined over small gaps, what the tail holds is not read again. It gives
// nothing when the spans are too large to be held at once. The caller gives the
// segments back.
func (f *File) gather(ctx context.Context, spans []span, plan readPlan) ([]segment, error) {
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
			if end := last.off + last.n; sp.off <= end+plan.gap {
				total -= last.n
				last.n = max(end, sp.off+sp.n) - last.off
				total += last.n
				continue
			}
		}
		parts = append(parts, sp)
		total += sp.n
	}
	if total > plan.limit {
		return nil, nil
	}
	out := make([]segment, len(parts))
	for i, p := range parts {
		b := batch.TakeBuffer(int(p.n))
		out[i] = segment{p.off, b, b}
	}
	if err := batch.SideBySide(gatherParts, len(out), func(i int) error { return f.ReadAt(ctx, out[i].data, out[i].off) }); err != nil {
		giveAll(out)
		return nil, err
	}
	// A chunk that reaches into the tail is whole in one view.
	if n := len(out); n > 0 && out[n-1].off+int64(len(out[n-1].data)) == f.tailOff {
		out[n-1].data = append(out[n-1].data, f.tail...)
	}
	return out, nil
}

func bytesIn(spans []span) (n int64) {
	for _, sp := range spans {
		n += sp.n
	}
	return n
}

func giveAll(segments []segment) {
	for i := range segments {
		segments[i].give()
	}
}
