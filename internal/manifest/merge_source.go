package manifest

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// source is a manifest to merge from, as it is stored. What an entry is made of
// does not depend on the manifest it is in, so that bytes can be copied: blocks,
// compressed, without their entries, and entries without their parts.
type source struct {
	meta FileMeta
	path string
	box  *container
	plan *entryPlan
	own  bool // its schema is the one that is written
}

// sources reads manifests, as many side by side as there are workers.
func (s *Store) sources(ctx context.Context, metas []FileMeta) ([]*source, error) {
	out := make([]*source, len(metas))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, s.cfg.Workers))
	for i, m := range metas {
		g.Go(func() (err error) {
			out[i], err = s.source(ctx, m)
			return err
		})
	}
	return out, g.Wait()
}

func (s *Store) source(ctx context.Context, m FileMeta) (*source, error) {
	path := s.cfg.Table.ManifestFile(m.FileName)
	data, err := s.read(ctx, path, m.FileSize)
	if err != nil {
		return nil, err
	}
	src := &source{meta: m, path: path}
	if src.box, err = openContainer(data); err == nil {
		src.plan, err = ocf.Compiled(s.schemas, src.box.schema, newEntryPlan)
	}
	if err != nil {
		return nil, tarnerr.Trace("reading manifest", err, "path", path)
	}
	src.own = src.plan == ownSchemas().entryPlan
	return src, nil
}

// counts tells whether the blocks have as many entries as the list says.
func (src *source) counts() bool {
	box, sum := *src.box, int64(0)
	for {
		_, n, more, err := box.nextPacked()
		if err != nil || n < 0 {
			return false
		}
		if !more {
			return sum == src.meta.Added+src.meta.Deleted
		}
		sum += n
	}
}

// span is a run of bytes in a block.
type span struct{ from, to int }

// packedBlock is a block as it is stored.
type packedBlock struct {
	packed, records []byte
	count           int
	codec           string
	last            bool
}

// walk decodes the entries of a manifest that the filter takes, without their
// statistics, and shows each with the place of its bytes; then, where end is not
// nil, the block they were in. What is shown is valid during the call.
func (s *Store) walk(src *source, filter EntryFilter, entry func(e *Entry, at span) error, end func(b packedBlock) error) error {
	box := *src.box
	d := newEntryDecoder(src.plan, filter)
	c := cursor{noStats: true}
	var scratch []byte
	for {
		b := packedBlock{codec: box.codec}
		var n int64
		var more bool
		var err error
		if b.packed, n, more, err = box.nextPacked(); err != nil || !more {
			return tarnerr.Trace("reading manifest", err, "path", src.path)
		}
		if b.records, b.count, err = box.unpack(b.packed, n, scratch); err != nil {
			return tarnerr.Trace("reading manifest", err, "path", src.path)
		}
		if box.codec != ocf.CodecNull {
			scratch = b.records
		}
		b.last = !box.blocksLeft()
		c.begin(b.records)
		s.decoded.Add(int64(b.count))
		for range b.count {
			from := c.Pos
			if metas := d.state.metas; len(metas) > 0 { // nobody has kept the one before
				metas[0] = datafile.Meta{}
				d.state.metas = metas[:0]
			}
			took, err := d.one(&c)
			if err != nil {
				return tarnerr.Trace("reading manifest", err, "path", src.path)
			}
			if !took {
				continue
			}
			if err := entry(&d.state.Entry, span{from, c.Pos}); err != nil {
				return err
			}
		}
		if err := c.ended(); err != nil {
			return tarnerr.Trace("reading manifest", err, "path", src.path)
		}
		if end != nil {
			if err := end(b); err != nil {
				return err
			}
		}
	}
}

// pick writes the entries of a manifest that keep takes, in their order. keep is
// given entries without statistics, valid during the call.
func (s *Store) pick(ctx context.Context, w *roller, src *source, keep func(e *Entry) (bool, error)) error {
	if !src.own {
		return s.rewrite(ctx, w, src, keep)
	}
	var kept []span
	count := 0
	return s.walk(src, EntryFilter{}, func(e *Entry, at span) error {
		if ok, err := keep(e); err != nil || !ok {
			return tarnerr.Trace("merging manifest", err, "path", src.path)
		}
		if err := w.open(ctx); err != nil {
			return err
		}
		count++
		if n := len(kept); n > 0 && kept[n-1].to == at.from {
			kept[n-1].to = at.to
		} else {
			kept = append(kept, at)
		}
		return tarnerr.Trace("writing manifest", w.summary.add(e), "path", w.file.path)
	}, func(b packedBlock) error {
		defer func() { kept, count = kept[:0], 0 }()
		switch {
		case count == 0:
			return nil
		case count == b.count && w.takesWhole(&b):
			if err := w.file.block(b.packed, int64(b.count)); err != nil {
				return tarnerr.Trace("writing manifest", err, "path", w.file.path)
			}
			return w.finishIfFull()
		}
		for _, at := range kept {
			w.file.records = append(w.file.records, b.records[at.from:at.to]...)
		}
		if err := w.file.added(count); err != nil {
			return tarnerr.Trace("writing manifest", err, "path", w.file.path)
		}
		return w.finishIfFull()
	})
}

// rewrite does as pick does with a manifest of another release's schema, whose
// entries have to be written anew.
func (s *Store) rewrite(ctx context.Context, w *roller, src *source, keep func(e *Entry) (bool, error)) error {
	entries, err := s.decodeEntries(src.box.data, EntryFilter{})
	if err != nil {
		return tarnerr.Trace("reading manifest", err, "path", src.path)
	}
	for i := range entries {
		ok, err := keep(&entries[i])
		if err != nil {
			return tarnerr.Trace("merging manifest", err, "path", src.path)
		}
		if !ok {
			continue
		}
		if err := w.write(ctx, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// take writes all entries of a manifest, where it can without decoding any.
func (s *Store) take(ctx context.Context, w *roller, src *source) error {
	sum, known := s.summaryOf(&src.meta)
	if !src.own || !known || !src.counts() {
		return s.pick(ctx, w, src, func(*Entry) (bool, error) { return true, nil })
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	w.summary.join(&sum)
	box := *src.box
	var scratch []byte
	for {
		packed, n, more, err := box.nextPacked()
		if err != nil {
			return tarnerr.Trace("reading manifest", err, "path", src.path)
		}
		if !more {
			return w.finishIfFull()
		}
		b := packedBlock{packed: packed, codec: box.codec, last: !box.blocksLeft()}
		if w.takesWhole(&b) {
			err = w.file.block(packed, n)
		} else {
			if b.records, b.count, err = box.unpack(packed, n, scratch); err != nil {
				return tarnerr.Trace("reading manifest", err, "path", src.path)
			}
			if box.codec != ocf.CodecNull {
				scratch = b.records
			}
			w.file.records = append(w.file.records, b.records...)
			err = w.file.added(b.count)
		}
		if err != nil {
			return tarnerr.Trace("writing manifest", err, "path", w.file.path)
		}
	}
}

// takesWhole tells whether a block can be copied as it is. The last one of a
// manifest is mostly small: it is joined with what follows, so that blocks stay
// few and compress well.
func (w *roller) takesWhole(b *packedBlock) bool {
	return w.file.count == 0 && !b.last && b.codec == w.store.codec
}

// finishIfFull closes the manifest under construction when it has its size.
func (w *roller) finishIfFull() error {
	if !w.full() {
		return nil
	}
	return w.finish()
}

// scan shows visit the entries that the filter takes, without their statistics
// and valid during the call.
func (s *Store) scan(src *source, filter EntryFilter, visit func(e *Entry) error) error {
	return s.walk(src, filter, func(e *Entry, _ span) error { return visit(e) }, nil)
}
