package manifest

import "context"

// mergeFull rewrites the manifests that changed and those that have files the
// others delete, without any deletion. done is false when there is nothing to
// win. What exceeds the budget is merged in parts.
func (s *Store) mergeFull(ctx context.Context, metas []FileMeta, changed []bool, opts MergeOptions) (out []FileMeta, done bool, err error) {
	size := int64(0)
	for i, m := range metas {
		if changed[i] {
			size += m.weight()
		}
	}
	if size > opts.budget() {
		return s.mergePart(ctx, metas, opts)
	}
	holders, err := s.sources(ctx, holding(metas))
	if err != nil {
		return nil, false, err
	}
	gone, err := s.deletions(holders)
	if err != nil {
		return nil, false, err
	}
	var todo []FileMeta
	var must []bool
	for i, m := range metas {
		if !changed[i] && !gone.mayTouch(s, m) {
			out = append(out, m)
			continue
		}
		if !changed[i] {
			if size += m.weight(); size > opts.budget() {
				return s.mergePart(ctx, metas, opts)
			}
		}
		todo, must = append(todo, m), append(must, changed[i])
	}
	if len(todo) <= 1 {
		return nil, false, nil
	}
	w := s.newRoller()
	for i, m := range todo {
		var src *source
		if m.Deleted > 0 {
			src, holders = holders[0], holders[1:]
		} else if src, err = s.source(ctx, m); err != nil {
			w.abort(ctx)
			return nil, false, err
		}
		kept, err := s.mergeWhole(ctx, w, src, gone, must[i])
		if err != nil {
			w.abort(ctx)
			return nil, false, err
		}
		if kept {
			out = append(out, m)
		}
	}
	written, err := w.close(ctx)
	if err != nil {
		return nil, false, err
	}
	return append(out, written...), true, nil
}

// mergeWhole writes what a full merge leaves of a manifest. kept means that it
// stays as it is: nothing in it is deleted, and it need not be rewritten.
func (s *Store) mergeWhole(ctx context.Context, w *roller, src *source, gone *deletions, must bool) (kept bool, err error) {
	if src.meta.Deleted == 0 && !gone.mayTouch(s, src.meta) {
		return false, s.take(ctx, w, src)
	}
	if !must {
		hit := false
		err := s.scan(src, EntryFilter{}, func(e *Entry) error {
			hit = hit || gone.of(e) != nil
			return nil
		})
		if err != nil || !hit {
			return true, err
		}
	}
	return false, s.pick(ctx, w, src, func(e *Entry) (bool, error) { return e.Kind == Add && gone.of(e) == nil, nil })
}
