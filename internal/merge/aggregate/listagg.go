package aggregate

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// listagg joins strings, with a delimiter between them.
type listagg struct {
	*column
	delimiter []byte
	distinct  bool
}

func newListagg(c *column) (Function, error) {
	if c.t.Root != types.VarChar || c.t.Length != types.MaxLength {
		return nil, c.wants("STRING (VARCHAR without a length)")
	}
	f := &listagg{column: c, delimiter: []byte(",")}
	if d, ok := c.options[c.key("list-agg-delimiter")]; ok {
		f.delimiter = []byte(d)
	}
	var err error
	f.distinct, err = c.flag("distinct")
	return f, err
}

func (f *listagg) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	n, in := nullsOf(sources), bytesOf(sources)
	out := newBytes(mem, len(g.Ends))
	s := joined{f: f}
	from := 0
	for _, end := range g.Ends {
		s.set(nil, true)
		for j := from; j < end; j++ {
			v, null := []byte(nil), n.at(g.Refs[j])
			if !null {
				v = in.at(g.Refs[j])
			}
			switch o := g.op(j); {
			case o == opSet:
				s.set(v, null)
			case o == opRetract:
				if !f.ignoreRetract {
					out.release()
					return nil, f.noRetract()
				}
			case !null:
				s.add(v, o == opLate)
			}
		}
		if err := out.add(s.text, s.null); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	return out.finish(f.dt), nil
}

// joined is the text of one group. It lies in the sources until there is something
// to be joined, then in buf.
type joined struct {
	f      *listagg
	text   []byte
	null   bool
	buf    []byte
	own    bool // text lies in buf
	tokens map[string]struct{}
}

func (s *joined) set(v []byte, null bool) {
	s.text, s.null, s.own = v, null, false
	if s.tokens != nil {
		clear(s.tokens)
	}
}

// add joins v, behind the text or, if late, before it.
func (s *joined) add(v []byte, late bool) {
	switch {
	case s.null:
		s.set(v, false)
	case len(v) == 0:
	case len(s.text) == 0:
		s.set(v, false)
	case late:
		// The text moves behind v, by the same rule.
		text := append([]byte(nil), s.text...)
		s.set(v, false)
		s.join(text)
	default:
		s.join(v)
	}
}

func (s *joined) join(v []byte) {
	d := s.f.delimiter
	if !s.own {
		s.buf, s.own = append(s.buf[:0], s.text...), true
		if s.f.distinct {
			s.know(s.text)
		}
	} else if s.f.distinct && len(d) != 1 {
		// A token and a part of a longer delimiter may make another token.
		clear(s.tokens)
		s.know(s.buf)
	}
	if !s.f.distinct {
		s.buf = append(append(s.buf, d...), v...)
	} else {
		for token := range s.f.split(v) {
			if _, ok := s.tokens[string(token)]; ok || len(token) == 0 {
				continue
			}
			s.tokens[string(token)] = struct{}{}
			s.buf = append(append(s.buf, d...), token...)
		}
	}
	s.text = s.buf
}

func (s *joined) know(text []byte) {
	if s.tokens == nil {
		s.tokens = map[string]struct{}{}
	}
	for token := range s.f.split(text) {
		s.tokens[string(token)] = struct{}{}
	}
}

// split yields the tokens of a text. An empty delimiter splits at blanks.
func (f *listagg) split(text []byte) func(yield func([]byte) bool) {
	d := f.delimiter
	if len(d) == 0 {
		d = []byte(" ")
	}
	return bytes.SplitSeq(text, d)
}

// byteColumn is a column of strings or bytes in the making.
type byteColumn struct {
	mem     memory.Allocator
	offsets *memory.Buffer
	ends    []int32
	data    *memory.Buffer
	n       int
	valid   validity
}

func newBytes(mem memory.Allocator, n int) *byteColumn {
	b := &byteColumn{mem: mem, offsets: memory.NewResizableBuffer(mem), data: memory.NewResizableBuffer(mem), valid: newValidity(mem, n)}
	b.offsets.Resize((n + 1) * arrow.Int32SizeBytes)
	b.ends = arrow.Int32Traits.CastFromBytes(b.offsets.Bytes())
	b.ends[0] = 0
	return b
}

func (b *byteColumn) add(v []byte, null bool) error {
	if null {
		b.valid.null(b.n)
		v = nil
	}
	at := int(b.ends[b.n])
	if at+len(v) > types.MaxLength {
		return batch.ErrTooLarge
	}
	if at+len(v) > b.data.Cap() {
		b.data.Reserve(max(at+len(v), 2*b.data.Cap(), 1024))
	}
	b.data.Resize(at + len(v))
	copy(b.data.Bytes()[at:], v)
	b.n++
	b.ends[b.n] = int32(at + len(v))
	return nil
}

func (b *byteColumn) finish(dt arrow.DataType) arrow.Array {
	return finish(dt, b.n, &b.valid, b.offsets, b.data)
}

func (b *byteColumn) release() {
	b.offsets.Release()
	b.data.Release()
	b.valid.buf.Release()
}
