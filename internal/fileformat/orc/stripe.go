package orc

import (
	"context"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/tarnerr"
)

const (
	// gapBytes that nobody wants are carried along to save a request.
	gapBytes = 128 << 10
	// pieceBytes is the most that one request asks for.
	pieceBytes = 8 << 20
	// gatherParts bounds the requests in flight at once.
	gatherParts = 4
)

// span is a range of bytes in the file.
type span struct{ off, n int64 }

type streamKey struct {
	column int
	kind   streamKind
}

// stripe is a stripe being read: where its streams are, and the bytes of those
// that are wanted.
type stripe struct {
	file      *File
	index     int
	before    int64 // rows of the stripes before it
	rows      int64
	encodings []encoding
	spans     map[streamKey]span
	local     zone // of TIMESTAMP
	instant   zone // of TIMESTAMP WITH LOCAL TIME ZONE
	indexes   map[int]rowIndex
	loaded    []segment
	run       *rowRun // where streams begin; nil: at their beginning
}

func (f *File) corruptStripe(i int, cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading ORC file", cause, append([]any{"path", f.Path, "stripe", i}, kv...)...)
}

// openStripe reads the footer of a stripe.
func (f *File) openStripe(ctx context.Context, i int) (*stripe, error) {
	info := f.meta.stripes[i]
	raw, err := f.bytes(ctx, span{info.offset + info.index + info.data, info.footer})
	if err != nil {
		return nil, err
	}
	plain, err := f.plain(raw)
	if err != nil {
		return nil, f.corruptStripe(i, "stripe footer cannot be decompressed")
	}
	foot, ok := decodeStripeFooter(plain)
	if !ok {
		return nil, f.corruptStripe(i, "stripe footer cannot be decoded")
	}
	if foot.encrypted {
		return nil, f.Unsupported("encrypted ORC files cannot be read", "stripe", i)
	}
	if len(foot.encodings) < len(f.nodes) {
		return nil, f.corruptStripe(i, "stripe does not have the schema's columns", "columns", len(foot.encodings), "want", len(f.nodes))
	}
	s := &stripe{file: f, index: i, rows: info.rows, encodings: foot.encodings, spans: map[streamKey]span{}, indexes: map[int]rowIndex{}}
	off, end := info.offset, info.offset+info.index+info.data
	for _, x := range foot.streams {
		if x.length > end-off {
			return nil, f.corruptStripe(i, "stream lies outside its stripe", "column", x.column)
		}
		if x.column < int64(len(f.nodes)) {
			s.spans[streamKey{int(x.column), x.kind}] = span{off, x.length}
		}
		off += x.length
	}
	return s, s.zones(foot.zone)
}

// bytes gives a span of the file, without a request when the tail holds it.
func (f *File) bytes(ctx context.Context, sp span) ([]byte, error) {
	if b, ok := f.tail.view(sp.off, sp.n); ok {
		return b, nil
	}
	b := make([]byte, sp.n)
	return b, f.ReadAt(ctx, b, sp.off)
}

// load reads the streams of columns that their values are made of, what of them
// the runs need, and gives their size. No runs are the whole stripe.
func (s *stripe) load(ctx context.Context, columns []int, runs []rowRun) (size int64, err error) {
	wanted := map[int]bool{}
	for _, c := range columns {
		wanted[c] = true
	}
	var spans []span
	for key, sp := range s.spans {
		if !wanted[key.column] || sp.n == 0 {
			continue
		}
		switch key.kind {
		case streamPresent, streamData, streamLength, streamDictionary, streamSecondary:
			size += sp.n
			if runs == nil {
				spans = append(spans, sp)
			}
			for i := range runs {
				spans = append(spans, runs[i].span(key, sp))
			}
		}
	}
	s.loaded, err = s.file.gather(ctx, spans)
	return size, err
}

// span is the part of a stream that a run needs.
func (r *rowRun) span(key streamKey, sp span) span {
	if r == nil {
		return sp
	}
	if end, ok := r.ends[key]; ok && end < uint64(sp.n) {
		sp.n = int64(end)
	}
	from := int64(r.positions[key].off)
	return span{sp.off + from, max(sp.n-from, 0)}
}

// gather reads spans with few requests: neighbours are joined over small gaps,
// what the tail holds is not read again, long runs are read in pieces side by side.
func (f *File) gather(ctx context.Context, spans []span) ([]segment, error) {
	sort.Slice(spans, func(i, j int) bool { return spans[i].off < spans[j].off })
	var parts []span
	for _, sp := range spans {
		if sp.off >= f.tail.off {
			continue
		}
		sp.n = min(sp.n, f.tail.off-sp.off)
		if len(parts) > 0 {
			last := &parts[len(parts)-1]
			if end := last.off + last.n; sp.off <= end+gapBytes {
				last.n = max(end, sp.off+sp.n) - last.off
				continue
			}
		}
		parts = append(parts, sp)
	}
	out := make([]segment, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(gatherParts)
	for i, p := range parts {
		out[i] = segment{p.off, make([]byte, p.n)}
		for at := int64(0); at < p.n; at += pieceBytes {
			piece := out[i].data[at:min(at+pieceBytes, p.n)]
			group.Go(func() error { return f.ReadAt(ctx, piece, p.off+at) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// A stream that reaches into the tail is whole in one view.
	if n := len(out); n > 0 && out[n-1].off+int64(len(out[n-1].data)) == f.tail.off {
		out[n-1].data = append(out[n-1].data, f.tail.data...)
	}
	return append(out, f.tail), nil
}

// view finds a span among loaded segments.
func view(loaded []segment, sp span) ([]byte, bool) {
	i := sort.Search(len(loaded), func(i int) bool { return loaded[i].off > sp.off }) - 1
	if i < 0 {
		return nil, false
	}
	return loaded[i].view(sp.off, sp.n)
}

// stream opens a loaded stream, nil when the stripe does not have it. At is
// where in its first run of values it begins.
func (s *stripe) stream(column int, kind streamKind) (in *stream, at position, err error) {
	key := streamKey{column, kind}
	sp, ok := s.spans[key]
	if !ok {
		return nil, at, nil
	}
	raw, _ := view(s.loaded, s.run.span(key, sp)) // nothing was loaded of an empty one
	in = newStream(raw, s.file.post.compression, s.file.post.blockSize)
	if s.run != nil {
		at = s.run.positions[key]
	}
	return in, at, in.skip(int64(at.inside))
}

// raw opens a stream of plain bytes.
func (s *stripe) raw(column int, kind streamKind) (*stream, error) {
	in, _, err := s.stream(column, kind)
	return in, err
}

// bytes opens a stream of bytes in runs.
func (s *stripe) bytes(column int, kind streamKind) (byteRuns, error) {
	in, at, err := s.stream(column, kind)
	r := byteRuns{in: in}
	if err == nil && at.values > 0 {
		err = r.read(make([]byte, at.values))
	}
	return r, err
}

// bits opens a stream of booleans, nil when the stripe does not have it.
func (s *stripe) bits(column int, kind streamKind) (*bitRuns, error) {
	in, at, err := s.stream(column, kind)
	if in == nil || err != nil {
		return nil, err
	}
	r := &bitRuns{byteRuns: byteRuns{in: in}}
	if n := int(at.values*8 + at.bits); n > 0 {
		_, err = r.read(make([]byte, n/8+1), 0, n)
	}
	return r, err
}

// version tells the two versions of run lengths apart.
func (s *stripe) version(column int) (v2 bool, err error) {
	switch s.encodings[column].kind {
	case encDirect, encDictionary:
		return false, nil
	case encDirectV2, encDictionaryV2:
		return true, nil
	}
	return false, dataError("unknown encoding")
}

// ints opens a stream of integers in runs.
func (s *stripe) ints(column int, kind streamKind, signed bool) (*intRuns, error) {
	v2, err := s.version(column)
	if err != nil {
		return nil, err
	}
	in, at, err := s.stream(column, kind)
	r := newIntRuns(in, v2, signed)
	if err == nil && at.values > 0 {
		err = r.read(make([]int64, at.values))
	}
	return r, err
}
