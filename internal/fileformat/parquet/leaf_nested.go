package parquet

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// takeNested consumes n rows entry by entry; with keep their levels and values
// go to the batch.
func (l *leafReader) takeNested(ctx context.Context, n int, keep bool) error {
	started := 0 // rows begun
	for {
		if l.left == 0 {
			if l.pos >= l.end {
				break
			}
			if err := l.page(ctx); err != nil {
				return err
			}
		}
		defs := l.pageDefs[len(l.pageDefs)-l.left:]
		k := 0
		if l.node.rep == 0 {
			k = min(len(defs), n-started)
			started += k
		} else {
			reps := l.pageReps[len(l.pageReps)-l.left:]
			for ; k < len(reps); k++ {
				if reps[k] == 0 {
					if started == n {
						break
					}
					started++
				} else if started == 0 {
					return pageError("row begins with a continuation")
				}
			}
			if keep {
				l.batchReps = append(l.batchReps, reps[:k]...)
			}
		}
		if err := l.takeEntries(defs[:k], keep); err != nil {
			return err
		}
		l.left -= k
		if l.left > 0 || l.node.rep == 0 && started == n {
			break
		}
	}
	if started < n {
		return errShort
	}
	l.row += int64(n)
	return nil
}

func (l *leafReader) takeEntries(defs []uint8, keep bool) error {
	valid, slots := 0, 0
	for _, d := range defs {
		if d == l.node.def {
			valid++
		}
		if d >= l.anc {
			slots++
		}
	}
	if !keep {
		return l.dec.skip(valid)
	}
	l.batchDefs = append(l.batchDefs, defs...)
	l.out.Reserve(l.out.N + slots)
	if valid < slots || l.out.Validity != nil {
		bits := l.out.Nullable(l.out.N + slots)
		i := l.out.N
		for _, d := range defs {
			if d >= l.anc {
				if d == l.node.def {
					bitutil.SetBit(bits, i)
				}
				i++
			}
		}
	}
	if err := l.dec.read(&l.out, valid); err != nil {
		return err
	}
	l.out.Spread(slots, valid)
	return nil
}

// pageLevels decodes all levels of a page, growing with what there is: a run of
// a few bytes may claim two thousand million entries.
func (l *leafReader) pageLevels(n int) error {
	l.pageDefs, l.pageReps = l.pageDefs[:0], l.pageReps[:0]
	var ok bool
	if l.pageDefs, ok = allLevels(l.pageDefs, &l.defs, l.node.def, n); !ok {
		return errShort
	}
	if l.node.rep > 0 {
		if l.pageReps, ok = allLevels(l.pageReps, &l.reps, l.node.rep, n); !ok {
			return errShort
		}
	}
	return nil
}

// maxLevels bounds the entries of one page of a nested column.
const maxLevels = 1 << 28

func allLevels(dst []uint8, h *hybrid, top uint8, n int) ([]uint8, bool) {
	if n > maxLevels {
		return dst, false
	}
	dst = grow(dst, n)
	if top == 0 {
		clear(dst)
		return dst, true
	}
	if !h.bytes(dst) {
		return dst, false
	}
	for _, d := range dst {
		if d > top {
			return dst, false
		}
	}
	return dst, true
}
