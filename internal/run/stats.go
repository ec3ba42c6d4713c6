package run

import (
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// columnStats are the statistics of one column as metadata keeps them; nil
// means unknown.
type columnStats struct {
	min, max types.Value
	nulls    *int64
}

// none reports that nothing is known: a dense row leaves the column out.
func (s columnStats) none() bool { return s.min == nil && s.max == nil && s.nulls == nil }

// keep cuts what the file's writer counted down to what mode keeps (Java:
// SimpleColStatsCollector.convert). Nested columns whose nulls were not counted
// have no statistics at all, whatever the mode: Java looks them up in the footer
// by the name of the column, which no leaf has. Opaque bytes have a null count only.
func keep(mode StatsMode, t types.Type, s fileformat.ColumnStats) columnStats {
	if t.IsNested() && s.NullCount < 0 || mode.kind == modeNone {
		return columnStats{}
	}
	nulls := s.NullCount
	if mode.kind == modeCounts || t.IsBytes() || s.Min == nil || s.Max == nil {
		return columnStats{nulls: &nulls}
	}
	out := columnStats{min: s.Min, max: s.Max, nulls: &nulls}
	if mode.kind != modeTruncate || !t.IsString() {
		return out
	}
	lo, _ := s.Min.(string)
	hi, _ := s.Max.(string)
	upper, ok := truncateMax(hi, mode.length)
	if !ok {
		return columnStats{nulls: &nulls}
	}
	out.min, out.max = truncateMin(lo, mode.length), upper
	return out
}

// truncateMin is the first n code points of s: not above s.
func truncateMin(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// truncateMax is a string of at most n code points that is not below s: s
// itself when short enough, else its first n code points with the last one
// that can be raised by one raised and those after it dropped. It gives false
// when none can be raised. Surrogates are no code points: U+D7FF is raised to
// U+E000, where Java gives a string that its own encoding cannot hold.
func truncateMax(s string, n int) (string, bool) {
	cut := truncateMin(s, n)
	if len(cut) == len(s) {
		return s, true
	}
	for len(cut) > 0 {
		r, size := utf8.DecodeLastRuneInString(cut)
		cut = cut[:len(cut)-size]
		next := r + 1
		if next == 0xD800 {
			next = 0xE000
		}
		if next <= utf8.MaxRune {
			var b strings.Builder
			b.WriteString(cut)
			b.WriteRune(next)
			return b.String(), true
		}
	}
	return "", false
}

// statsRow lays out statistics as metadata stores them. Dense rows leave out the
// columns of which nothing is known; the names of those kept come back, nil when
// all are (Java: SimpleStatsConverter).
func statsRow(fields []types.Field, stats []columnStats, dense bool) (datafile.Stats, []string, error) {
	var kept []types.Type
	var low, high []types.Value
	nulls := []*int64{}
	names := []string{}
	for i, f := range fields {
		if dense && stats[i].none() {
			continue
		}
		kept = append(kept, f.Type.WithNull(true))
		low = append(low, stats[i].min)
		high = append(high, stats[i].max)
		nulls = append(nulls, stats[i].nulls)
		names = append(names, f.Name)
	}
	if !dense || len(names) == len(fields) {
		names = nil
	}
	lowRow, err := binaryrow.Encode(kept, low)
	if err != nil {
		return datafile.Stats{}, nil, err
	}
	highRow, err := binaryrow.Encode(kept, high)
	if err != nil {
		return datafile.Stats{}, nil, err
	}
	return datafile.Stats{Min: lowRow, Max: highRow, NullCounts: nulls}, names, nil
}
