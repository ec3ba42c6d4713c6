package lookup

import (
	"container/list"
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
)

// tail says where the index and the filter of a local file lie: behind its blocks,
// each with a checksum in front. Nobody but its maker reads the file, so that this
// need not be in it.
type tail struct {
	indexAt              int64 // where the blocks end
	indexSmall, indexLen int   // bytes on disk and in memory
	filterLen            int   // 0: it has none
}

// head is what is read of a local file before any block.
type head struct {
	in     fileio.File
	index  *index
	filter *filter // nil: none
	bytes  int64
	held   *budget.Reservation
}

func (h *head) free() {
	h.in.Close() // only read from
	if h.held != nil {
		h.held.Release()
	}
}

// block is a block in memory. Its keys are good as long as rec is.
type block struct {
	of    *localFile
	i     int
	rec   arrow.RecordBatch
	keys  *merge.Keys
	small int   // bytes on disk
	bytes int64 // and in memory
	held  *budget.Reservation
	at    *list.Element // of Store.blocks; nil: kept by nobody but its user
}

// dropBlock takes a block out of the store.
func (s *Store) dropBlock(b *block, frees *[]func()) {
	s.blocks.Remove(b.at)
	delete(b.of.blocks, b.i)
	s.table(b.of.files.table).memory -= b.bytes
	*frees = append(*frees, func() {
		b.rec.Release()
		if b.held != nil {
			b.held.Release()
		}
	})
}

// reserve takes memory for what is kept for speed, or for a while, at the cost of
// what was kept for longer. Nobody waits for it.
func (s *Store) reserve(n int64) (*budget.Reservation, bool) {
	if s.budget == nil {
		return nil, true
	}
	for {
		if r, ok := s.budget.TryReserve(n); ok {
			return r, true
		}
		if n > s.budget.Limit() || s.budget.Contended() || !s.shed(n) {
			return nil, false
		}
	}
}

// opened is the head of a file in use, read when it is not in memory. Nil where
// there is no memory for it.
func (l *localFile) opened(ctx context.Context) (*head, error) {
	s := l.store
	s.mu.Lock()
	h := l.head
	s.mu.Unlock()
	if h != nil {
		return h, nil
	}
	bytes := int64(l.tail.indexLen)*headBlowUp + int64(l.tail.filterLen)
	held, ok := s.reserve(bytes)
	if !ok {
		return nil, nil
	}
	h, err := l.readHead(ctx)
	if err != nil {
		if held != nil {
			held.Release()
		}
		return nil, err
	}
	h.held, h.bytes = held, bytes
	var frees []func()
	s.mu.Lock()
	if l.head != nil { // another one was quicker
		frees = append(frees, h.free)
		h = l.head
	} else {
		l.head = h
		s.table(l.files.table).memory += h.bytes
		s.open++
		s.closeIdle(&frees)
	}
	s.mu.Unlock()
	freeAll(frees)
	return h, nil
}

// headBlowUp is about how much more an index takes in memory than in bytes.
const headBlowUp = 4

// closeIdle closes files that nobody reads, when many are open.
func (s *Store) closeIdle(frees *[]func()) {
	for e := s.built.Back(); e != nil && s.open > maxOpen; e = e.Prev() {
		if l := e.Value.(*localFile); l.users == 0 {
			l.close(frees)
		}
	}
}

func (l *localFile) readHead(ctx context.Context) (*head, error) {
	in, err := l.fio.Open(ctx, l.path)
	if err != nil {
		return nil, err
	}
	h := &head{in: in}
	if err := h.read(ctx, l); err != nil {
		in.Close()
		return nil, spill.Broken("reading local file", err, "file", l.path)
	}
	return h, nil
}

func (h *head) read(ctx context.Context, l *localFile) error {
	t := l.tail
	small := make([]byte, t.indexSmall)
	if _, err := h.in.ReadAt(ctx, small, t.indexAt); err != nil {
		return err
	}
	part, err := check(small)
	if err != nil {
		return err
	}
	plain, err := l.files.codec.Decompress(nil, part, t.indexLen)
	if err != nil {
		return err
	}
	if h.index, err = decodeIndex(plain, t.indexAt); err != nil || t.filterLen == 0 {
		return err
	}
	bits := make([]byte, t.filterLen)
	if _, err := h.in.ReadAt(ctx, bits, t.indexAt+int64(t.indexSmall)); err != nil {
		return err
	}
	if part, err = check(bits); err != nil {
		return err
	}
	h.filter, err = decodeFilter(part)
	return err
}

// block reads a block, or takes the one in memory. The caller releases it.
func (l *localFile) block(ctx context.Context, r *Reader, h *head, i int) (*block, error) {
	s := l.store
	s.mu.Lock()
	if b := l.blocks[i]; b != nil {
		s.blocks.MoveToFront(b.at)
		b.rec.Retain()
		s.mu.Unlock()
		return b, nil
	}
	s.mu.Unlock()
	b, err := l.readBlock(ctx, r, h, i)
	if err != nil {
		return nil, spill.Broken("reading local file", err, "file", l.path, "offset", h.index.blocks[i].at)
	}
	l.cache(b)
	return b, nil
}

// readBlock reads block i.
func (l *localFile) readBlock(ctx context.Context, r *Reader, h *head, i int) (*block, error) {
	info := h.index.blocks[i]
	small := batch.TakeBuffer(info.small)
	defer batch.GiveBuffer(small)
	if _, err := h.in.ReadAt(ctx, small, info.at); err != nil {
		return nil, err
	}
	part, err := check(small)
	if err != nil {
		return nil, err
	}
	room := batch.TakeBuffer(info.size)
	defer batch.GiveBuffer(room)
	plain, err := l.files.codec.Decompress(room, part, info.size)
	if err != nil {
		return nil, err
	}
	rec, err := r.codec.decode(plain)
	if err != nil {
		return nil, err
	}
	if rec.NumRows() != int64(info.rows) {
		rec.Release()
		return nil, tarnerr.New(tarnerr.Corrupt, "decoding block", "another number of rows", "rows", rec.NumRows(), "want", info.rows)
	}
	b := &block{of: l, i: i, rec: rec, small: info.small, bytes: int64(info.size) + 8*int64(info.rows)}
	if b.keys, err = r.rows.Load(rec); err != nil {
		rec.Release()
		return nil, err
	}
	return b, nil
}

// cache keeps a block that was read, if there is memory for it.
func (l *localFile) cache(b *block) {
	s := l.store
	held, ok := s.reserve(b.bytes)
	var frees []func()
	s.mu.Lock()
	s.use.BlocksRead++
	s.use.BytesRead += int64(b.small)
	u := s.table(l.files.table)
	if !ok || s.closed || l.dropped || l.blocks[b.i] != nil || b.bytes > l.files.opts.MaxMemory {
		if held != nil {
			frees = append(frees, held.Release)
		}
	} else {
		b.held = held
		b.rec.Retain()
		b.at = s.blocks.PushFront(b)
		if l.blocks == nil {
			l.blocks = map[int]*block{}
		}
		l.blocks[b.i] = b
		u.memory += b.bytes
		for e := s.blocks.Back(); e != nil && u.memory > l.files.opts.MaxMemory; {
			old := e.Value.(*block)
			e = e.Prev()
			if old != b && old.of.files.table == l.files.table {
				s.dropBlock(old, &frees)
			}
		}
	}
	s.mu.Unlock()
	freeAll(frees)
	s.relieve()
}

// worth reports that keys of the range of a data file are better looked up here.
func (l *localFile) worth(q *query, in []int, h *head, m *datafile.Meta) (bool, error) {
	if len(h.index.blocks) == 0 || l.files.always {
		return true, nil
	}
	first, err := q.encode(nil, in[0])
	if err != nil {
		return false, err
	}
	last, err := q.encode(nil, in[len(in)-1])
	if err != nil {
		return false, err
	}
	from := max(h.index.find(first, 0), 0)
	to := max(h.index.find(last, from), from)
	l.store.mu.Lock()
	kept := len(l.blocks)
	l.store.mu.Unlock()
	return cheaper(m, len(in), to-from+1, len(h.index.blocks), kept), nil
}

// gatherBytes is about how much of blocks is held to gather rows of them.
const gatherBytes = 4 << 20

// get finds keys in a local file.
func (l *localFile) get(ctx context.Context, h *head, r *Reader, q *query, in []int) error {
	g := gathering{q: q}
	defer g.release()
	var key []byte
	var b *block
	at, row := -1, 0
	for _, i := range in {
		var err error
		if key, err = q.encode(key[:0], i); err != nil {
			return err
		}
		if h.filter != nil && !h.filter.has(filterHash(key)) {
			continue
		}
		n := h.index.find(key, max(at, 0))
		if n < 0 {
			continue
		}
		if n != at {
			if g.bytes >= gatherBytes {
				if err := g.flush(); err != nil {
					return err
				}
			}
			if b, err = l.block(ctx, r, h, n); err != nil {
				return err
			}
			g.add(b)
			at, row = n, 0
		}
		prefixes := b.keys.Prefix()
		if row = seekRow(q, i, b.keys, prefixes, row); row < len(prefixes) && q.compare(i, b.keys, row) == 0 {
			g.take(row, i)
		}
	}
	return g.flush()
}

// gathering is blocks and the rows found in them.
type gathering struct {
	q       *query
	sources []arrow.RecordBatch
	bytes   int64
	refs    []batch.Ref
	keys    []int
}

// add takes over a block.
func (g *gathering) add(b *block) {
	g.sources = append(g.sources, b.rec)
	g.bytes += b.bytes
}

func (g *gathering) take(row, key int) {
	g.refs, g.keys = append(g.refs, batch.NewRef(len(g.sources)-1, row)), append(g.keys, key)
}

// flush keeps the rows.
func (g *gathering) flush() error {
	err := g.q.keep(g.sources, g.refs, g.keys)
	g.release()
	g.refs, g.keys = g.refs[:0], g.keys[:0]
	return err
}

func (g *gathering) release() {
	for _, rec := range g.sources {
		rec.Release()
	}
	g.sources, g.bytes = g.sources[:0], 0
}
