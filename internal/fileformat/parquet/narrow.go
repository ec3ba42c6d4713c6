package parquet

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// narrowing judges rows by the columns of the predicate alone, so that pages of
// the other columns are decompressed only where a row matches, and decoded only
// around it. A page holds thousands of rows; who looks for one key wants one.
type narrowing struct {
	file    *File
	where   *expr.Bound
	columns columnSet
	mask    []bool
}

// newNarrowing gives nil where nothing is to be gained: without a predicate over
// columns wanted, or when these are all that is wanted.
func newNarrowing(t *filter, req fileformat.ReadRequest) (*narrowing, error) {
	if t == nil {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, c := range req.Columns {
		_, known := t.columns[c.Name]
		wanted[c.Name] = known
	}
	where := t.where.Project(func(c string) bool { return wanted[c] })
	names := where.Columns()
	if len(names) == 0 || len(names) == len(req.Columns) {
		return nil, nil
	}
	n := &narrowing{file: t.file, where: where, columns: newColumnSet(1)}
	var fields []arrow.Field
	for _, name := range names {
		c := t.columns[name]
		f, err := types.ArrowField(types.Field{Name: name, Type: c.typ})
		if err != nil {
			return nil, err
		}
		if err := n.columns.add(t.file, c.node, c.typ, f.Type); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	n.columns.schema = arrow.NewSchema(fields, nil)
	return n, nil
}

// narrowGap is how many rows that do not match are decoded along between two
// that do: passing over rows costs more than so few.
const narrowGap = 64

// rows gives the parts of ranges that hold the rows that match, and the pages it
// had to inflate for that.
func (n *narrowing) rows(ctx context.Context, g int, ranges []rowRange, loaded []segment, pages map[*leafReader][]pageLocation, batchRows int) ([]rowRange, map[*fileNode]*keptPages, error) {
	defer n.columns.close()
	kept := map[*fileNode]*keptPages{}
	for l := range n.columns.leaves {
		kept[l.node] = &keptPages{}
		l.start(g, loaded, pages[l], kept[l.node])
		l.keep = true
	}
	var out []rowRange
	for _, r := range ranges {
		for from := r.from; from < r.to; {
			rows := int(min(r.to-from, int64(batchRows)))
			rec, err := n.columns.decode(ctx, []piece{{from, rows}}, rows)
			if tooLarge(err) {
				return ranges, kept, nil // the reader knows what to do about it
			}
			if err != nil {
				return nil, nil, err
			}
			n.mask, err = n.where.Mask(rec, n.mask)
			rec.Release()
			if err != nil {
				return nil, nil, err
			}
			out = appendMatches(out, from, n.mask)
			from += int64(rows)
		}
	}
	return out, kept, nil
}

// appendMatches appends the runs of rows that the mask, whose first row is from, marks.
func appendMatches(out []rowRange, from int64, mask []bool) []rowRange {
	for i, match := range mask {
		if !match {
			continue
		}
		row := from + int64(i)
		if k := len(out); k > 0 && row-out[k-1].to <= narrowGap {
			out[k-1].to = row + 1
		} else {
			out = append(out, rowRange{row, row + 1})
		}
	}
	return out
}

// maxKept is how much is kept of a column between narrowing and reading.
const maxKept = 2 << 20

// keptPages are inflated data pages of one column chunk by where they end. The
// nil value holds none.
type keptPages struct {
	pages map[int64][]byte
	size  int
}

func (k *keptPages) page(end int64) ([]byte, bool) {
	if k == nil {
		return nil, false
	}
	data, ok := k.pages[end]
	return data, ok
}

func (k *keptPages) room(size int) bool { return k != nil && k.size+size <= maxKept }

func (k *keptPages) put(end int64, data []byte) {
	if k.pages == nil {
		k.pages = map[int64][]byte{}
	}
	k.pages[end] = data
	k.size += len(data)
}

func (k *keptPages) give() {
	for _, data := range k.pages {
		batch.GiveBuffer(data)
	}
	k.pages = nil
}
