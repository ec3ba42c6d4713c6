package manifest

import (
	"context"

	"github.com/tarnlake/tarn/internal/binaryrow"
)

// mergeFull rewrites the manifests that changed and those that have files the
// others delete, without any deletion. done is false when there is nothing to
// win. What exceeds the budget is merged in parts.
func (s *Store) mergeFull(ctx context.Context, metas []FileMeta, changed []bool, opts MergeOptions) (out []FileMeta, done bool, err error) {
	size := int64(0)
	for i, m := range metas {
		if changed[i] {
			size += m.FileSize
		}
	}
	if size > opts.budget() {
		return s.mergePart(ctx, metas, opts)
	}
	deleted, partitions, err := s.deletedFiles(ctx, metas)
	if err != nil {
		return nil, false, err
	}
	var todo []FileMeta
	var must []bool
	for i, m := range metas {
		if !changed[i] && !s.mayHoldAny(m, partitions) {
			out = append(out, m)
			continue
		}
		if !changed[i] {
			if size += m.FileSize; size > opts.budget() {
				return s.mergePart(ctx, metas, opts)
			}
		}
		todo, must = append(todo, m), append(must, changed[i])
	}
	if len(todo) <= 1 {
		return nil, false, nil
	}
	w := s.newRoller()
	var ids Identities
	i := 0
	for entries, err := range s.ReadManifests(ctx, todo, EntryFilter{}) {
		if err != nil {
			w.abort(ctx)
			return nil, false, err
		}
		kept := entries[:0]
		rewrite := must[i]
		for _, e := range entries {
			if e.Kind == Delete {
				continue
			}
			if deleted[ids.Of(&e)] {
				rewrite = true
				continue
			}
			kept = append(kept, e)
		}
		if rewrite {
			for k := range kept {
				if err := w.write(ctx, &kept[k]); err != nil {
					w.abort(ctx)
					return nil, false, err
				}
			}
		} else {
			out = append(out, todo[i])
		}
		i++
	}
	written, err := w.close(ctx)
	if err != nil {
		return nil, false, err
	}
	return append(out, written...), true, nil
}

// mergePart does as much of a full merge as the budget allows: it takes some
// manifests with deletions and some with files they delete, and rewrites them
// without what cancels. Deletions whose files lie in others stay. done is false
// when nothing cancels.
func (s *Store) mergePart(ctx context.Context, metas []FileMeta, opts MergeOptions) (out []FileMeta, done bool, err error) {
	p := planPart{metas: metas, left: opts.budget(), taken: make([]bool, len(metas))}
	if !p.holders(opts.Turn) {
		return nil, false, nil
	}
	deleted, partitions, err := s.deletedFiles(ctx, p.chosen())
	if err != nil {
		return nil, false, err
	}
	if p.others(opts.Turn, func(m FileMeta) bool { return s.mayHoldAny(m, partitions) }) {
		// Among those may be some with deletions of their own.
		if deleted, _, err = s.deletedFiles(ctx, p.chosen()); err != nil {
			return nil, false, err
		}
	}
	holders := make([]bool, len(metas))
	for i, m := range metas {
		holders[i] = p.taken[i] && m.Deleted > 0
	}

	// First the additions that stay, then, behind whatever lies between, the
	// deletions: a file's deletion never comes before its addition.
	adds, deletes := s.newRoller(), s.newRoller()
	abort := func() {
		adds.abort(ctx)
		deletes.abort(ctx)
	}
	var ids Identities
	matched := map[Identity]bool{}
	first, last := -1, -1
	rewritten := make([]bool, len(metas))
	for i, m := range metas {
		if !p.taken[i] {
			continue
		}
		entries, err := s.ReadManifest(ctx, m, EntryFilter{})
		if err != nil {
			abort()
			return nil, false, err
		}
		rewrite := holders[i]
		for k := range entries {
			if id := ids.Of(&entries[k]); entries[k].Kind == Add && deleted[id] {
				rewrite, matched[id] = true, true
			}
		}
		if !rewrite {
			continue
		}
		rewritten[i], last = true, i
		if first < 0 {
			first = i
		}
		for k := range entries {
			if entries[k].Kind == Add && !deleted[ids.Of(&entries[k])] {
				if err := adds.write(ctx, &entries[k]); err != nil {
					abort()
					return nil, false, err
				}
			}
		}
	}
	if len(matched) == 0 {
		abort()
		return nil, false, nil
	}
	// The deletions are read once more: which of them stay is only known now.
	for i, m := range metas {
		if !holders[i] {
			continue
		}
		entries, err := s.ReadManifest(ctx, m, EntryFilter{Kind: func(k Kind) bool { return k == Delete }})
		if err != nil {
			abort()
			return nil, false, err
		}
		for k := range entries {
			if matched[ids.Of(&entries[k])] {
				continue
			}
			if err := deletes.write(ctx, &entries[k]); err != nil {
				abort()
				return nil, false, err
			}
		}
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
	return out, true, nil
}

// deletedFiles collects the files that manifests delete, and their partitions.
func (s *Store) deletedFiles(ctx context.Context, metas []FileMeta) (map[Identity]bool, []binaryrow.Row, error) {
	var holders []FileMeta
	for _, m := range metas {
		if m.Deleted > 0 {
			holders = append(holders, m)
		}
	}
	onlyDeletes := EntryFilter{Kind: func(k Kind) bool { return k == Delete }, WithoutStats: true}
	files, seen := map[Identity]bool{}, map[string]bool{}
	var partitions []binaryrow.Row
	var ids Identities
	for entries, err := range s.ReadManifests(ctx, holders, onlyDeletes) {
		if err != nil {
			return nil, nil, err
		}
		for i := range entries {
			id := ids.Of(&entries[i])
			files[id] = true
			if !seen[id.partition] {
				seen[id.partition] = true
				partitions = append(partitions, entries[i].Partition)
			}
		}
	}
	return files, partitions, nil
}

// mayHoldAny tells whether a manifest's partition statistics leave room for one
// of the partitions.
func (s *Store) mayHoldAny(m FileMeta, partitions []binaryrow.Row) bool {
	for _, p := range partitions {
		if s.MayHold(m, p) {
			return true
		}
	}
	return false
}
