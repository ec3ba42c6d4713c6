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
		if len(l.pageDefs) == 0 {
			if err := l.nextLevels(); err != nil {
				return err
			}
		}
		defs, reps := l.pageDefs, l.pageReps
		k := 0
		if l.node.rep == 0 {
			k = min(len(defs), n-started)
			started += k
		} else {
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
		l.pageDefs, l.left = defs[k:], l.left-k
		if l.node.rep > 0 {
			l.pageReps = reps[k:]
		}
		if k < len(defs) || l.node.rep == 0 && started == n {
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
	// Levels take a byte each, and what grows doubles.
	if per := max(l.out.Width, 0) + 5; !l.out.Allowance.Fits(int64(max(l.out.N, slots)*per + max(len(l.batchDefs), len(defs))*2)) {
		return errMemory
	}
	l.out.Allowance.Spend(int64(2 * len(defs)))
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

// levelStep is how many levels are decoded at a time: a run of a few bytes may
// claim two thousand million entries.
const levelStep = 16 << 10

// nextLevels decodes the next levels of the page.
func (l *leafReader) nextLevels() error {
	n := min(l.left, levelStep)
	l.defBuf = grow(l.defBuf, n)
	if l.pageDefs = l.defBuf; !readLevels(l.pageDefs, &l.defs, l.node.def) {
		return errShort
	}
	if l.node.rep > 0 {
		l.repBuf = grow(l.repBuf, n)
		if l.pageReps = l.repBuf; !readLevels(l.pageReps, &l.reps, l.node.rep) {
			return errShort
		}
	}
	return nil
}

func readLevels(dst []uint8, h *hybrid, top uint8) bool {
	if top == 0 {
		clear(dst)
		return true
	}
	if !h.bytes(dst) {
		return false
	}
	for _, d := range dst {
		if d > top {
			return false
		}
	}
	return true
}
