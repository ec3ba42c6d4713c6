package run

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// StatsMode says what a data file's metadata keeps of a column's statistics.
type StatsMode struct {
	kind   modeKind
	length int // truncate(n): code points
}

type modeKind uint8

const (
	modeNone modeKind = iota
	modeCounts
	modeFull
	modeTruncate
)

// The modes without a parameter: nothing, the null count, or minimum and maximum too.
var (
	StatsNone   = StatsMode{kind: modeNone}
	StatsCounts = StatsMode{kind: modeCounts}
	StatsFull   = StatsMode{kind: modeFull}
)

// StatsTruncate keeps minimum and maximum of strings cut to n code points.
func StatsTruncate(n int) StatsMode { return StatsMode{kind: modeTruncate, length: n} }

// systemStats is what Java keeps of `_KEY_*`, `_SEQUENCE_NUMBER` and `_VALUE_KIND`
// whatever the options say.
var systemStats = StatsTruncate(128)

// String is the mode as options spell it.
func (m StatsMode) String() string {
	switch m.kind {
	case modeCounts:
		return "counts"
	case modeFull:
		return "full"
	case modeTruncate:
		return "truncate(" + strconv.Itoa(m.length) + ")"
	default:
		return "none"
	}
}

// ParseStatsMode reads none, counts, full or truncate(n), in any case (Java:
// SimpleColStatsCollector.from).
func ParseStatsMode(s string) (StatsMode, error) {
	switch upper := strings.ToUpper(s); upper {
	case "NONE":
		return StatsNone, nil
	case "COUNTS":
		return StatsCounts, nil
	case "FULL":
		return StatsFull, nil
	default:
		if in, ok := strings.CutPrefix(upper, "TRUNCATE("); ok {
			if digits, ok := strings.CutSuffix(in, ")"); ok {
				if n, err := strconv.Atoi(digits); err == nil && n > 0 && digits[0] != '+' {
					return StatsTruncate(n), nil
				}
			}
		}
	}
	return StatsMode{}, tarnerr.New(tarnerr.Invalid, "reading statistics mode", "no such mode", "value", s).
		WithHint("Modes are none, counts, full and truncate(n) with n of at least 1.")
}

// StatsOptions are the table options that decide about statistics.
type StatsOptions struct {
	Mode       StatsMode            // metadata.stats-mode, or the one of the level
	PerColumn  map[string]StatsMode // fields.<column>.stats-mode
	KeepFirstN int                  // metadata.stats-keep-first-n-columns; negative = all
	Dense      bool                 // metadata.stats-dense-store
}

// Modes gives the mode of each column of a file (Java: StatsCollectorFactories).
// A column's own mode comes first; key columns always keep statistics, be they
// `_KEY_*` or, in thin files, the value columns named in thinKeys; the first n
// other columns follow the table's mode and the rest has none.
func (o StatsOptions) Modes(fields []types.Field, thinKeys []string) []StatsMode {
	out := make([]StatsMode, len(fields))
	seen := 0
	for i, f := range fields {
		own, ok := o.PerColumn[f.Name]
		switch {
		case ok:
			out[i] = own
			seen++
		case types.IsSystemName(f.Name) || slices.Contains(thinKeys, f.Name):
			out[i] = systemStats
		case o.KeepFirstN >= 0 && seen >= o.KeepFirstN:
			out[i] = StatsNone
			seen++
		default:
			out[i] = o.Mode
			seen++
		}
	}
	return out
}

// collected gives the modes of the columns of a key table's file in a format
// whose statistics Java collects row by row (Java: createStatsFactoriesForAvro):
// `_KEY_*` and system columns are columns like the others and count like them.
func (o StatsOptions) collected(fields []types.Field) []StatsMode {
	out := make([]StatsMode, len(fields))
	for i, f := range fields {
		own, ok := o.PerColumn[f.Name]
		switch {
		case ok:
			out[i] = own
		case o.KeepFirstN >= 0 && i >= o.KeepFirstN:
			out[i] = StatsNone
		default:
			out[i] = o.Mode
		}
	}
	return out
}
