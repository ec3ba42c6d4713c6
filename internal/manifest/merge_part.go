package manifest

import "context"

// mergePart does as much of a full merge as the budget allows: it takes some
// manifests with deletions and some with files they delete, and rewrites them
// without what cancels. Deletions whose files lie in others stay. done is false
// when nothing cancels.
func (s *Store) mergePart(ctx context.Context, metas []FileMeta, opts MergeOptions) (out []FileMeta, done bool, err error) {
	p := planPart{metas: metas, left: opts.budget(), taken: make([]bool, len(metas))}
	if !p.holders(opts.Turn) {
		return nil, false, nil
	}
	sources := make([]*source, len(metas))
	if err := s.readTaken(ctx, &p, sources); err != nil {
		return nil, false, err
	}
	gone, err := s.deletions(sources)
	if err != nil {
		return nil, false, err
	}
	if p.others(opts.Turn, func(m FileMeta) bool { return gone.mayTouch(s, m) }) {
		if err := s.readTaken(ctx, &p, sources); err != nil {
			return nil, false, err
		}
		// Among those may be some with deletions of their own.
		if gone, err = s.deletions(sources); err != nil {
			return nil, false, err
		}
	}
	rewritten, some, err := s.matched(sources, gone)
	if err != nil || !some {
		return nil, false, err
	}
	adds, deletes := s.newRoller(), s.newRoller()
	if err := s.writePart(ctx, sources, rewritten, gone, adds, deletes); err != nil {
		adds.abort(ctx)
		deletes.abort(ctx)
		return nil, false, err
	}
	added, err := adds.close(ctx)
	if err != nil {
		deletes.abort(ctx)
		return nil, false, err
	}
	removed, err := deletes.close(ctx)
	if err != nil {
		s.forget(ctx, added)
		return nil, false, err
	}
	return inPlaceOf(metas, rewritten, added, removed), true, nil
}

// readTaken reads the manifests taken that have not been read.
func (s *Store) readTaken(ctx context.Context, p *planPart, sources []*source) error {
	var metas []FileMeta
	var at []int
	for i, m := range p.metas {
		if p.taken[i] && sources[i] == nil {
			metas, at = append(metas, m), append(at, i)
		}
	}
	read, err := s.sources(ctx, metas)
	for k, src := range read {
		sources[at[k]] = src
	}
	return err
}

// matched finds the files that are added by one source and deleted by another,
// and says which sources have to be rewritten.
func (s *Store) matched(sources []*source, gone *deletions) (rewritten []bool, some bool, err error) {
	rewritten = make([]bool, len(sources))
	for i, src := range sources {
		if src == nil {
			continue
		}
		rewritten[i] = src.meta.Deleted > 0
		err := s.scan(src, EntryFilter{Kind: func(k Kind) bool { return k == Add }}, func(e *Entry) error {
			if d := gone.of(e); d != nil {
				d.matched, rewritten[i], some = true, true, true
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return rewritten, some, nil
}

// writePart writes the additions that stay and the deletions that stay.
func (s *Store) writePart(ctx context.Context, sources []*source, rewritten []bool, gone *deletions, adds, deletes *roller) error {
	for i, src := range sources {
		if !rewritten[i] {
			continue
		}
		if err := s.pick(ctx, adds, src, func(e *Entry) (bool, error) { return e.Kind == Add && gone.of(e) == nil, nil }); err != nil {
			return err
		}
		if src.meta.Deleted == 0 {
			continue
		}
		if err := s.pick(ctx, deletes, src, func(e *Entry) (bool, error) { return e.Kind == Delete && !gone.of(e).matched, nil }); err != nil {
			return err
		}
	}
	return nil
}

// inPlaceOf puts what was written in the place of what was rewritten: first the
// additions, then, behind whatever lies between, the deletions, since a file's
// deletion never comes before its addition.
func inPlaceOf(metas []FileMeta, rewritten []bool, added, removed []FileMeta) (out []FileMeta) {
	first, last := -1, -1
	for i := range metas {
		if rewritten[i] {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	for i, m := range metas {
		if i == first {
			out = append(out, added...)
		}
		if !rewritten[i] {
			out = append(out, m)
		}
		if i == last {
			out = append(out, removed...)
		}
	}
	return out
}
