package advice

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Advice is one figure beyond its limit. package table documents the fields.
type Advice struct {
	Subject  string
	Severity string
	Rule     string
	Where    string
	Figure   int64
	Limit    int64
	Unit     string
	Text     string
	Remedy   string
}

// Subjects, severities and units.
const (
	Bucket     = "bucket"
	Compaction = "compaction"
	Changelog  = "changelog"
	Retention  = "retention"
	Commit     = "commit"

	Note = "note" // it costs something
	Warn = "warn" // it costs much, is wrong, or gets worse by itself

	Bytes   = "bytes"
	Seconds = "seconds"
	Percent = "percent"
)

// Of judges a table. Nothing comes of a table that is well. What holds other things up
// comes first.
func Of(f *Figures) []Advice {
	var out []Advice
	for _, rule := range []func(*Figures) []Advice{
		openCommits, sortedRuns, noCompactor, smallFiles,
		largeBuckets, smallBuckets, skewedBuckets,
		changelogWaits, changelogMissing, changelogRetention,
		retentionOrder, expiryBehind, consumersHold, consumersLost, manySnapshots, endlessTags,
		smallManifests, deadEntries,
	} {
		out = append(out, rule(f)...)
	}
	return out
}

var (
	// plain are words that a shell takes as they are, within those that it takes in
	// double quotes.
	plain  = regexp.MustCompile(`^[A-Za-z0-9_./=,:@%+-]+$`)
	within = regexp.MustCompile("^[^\"$`\\\\!]+$")
)

// command is a command line of tarn that a shell can run.
func command(words ...string) string {
	line := "tarn"
	for _, w := range words {
		switch {
		case plain.MatchString(w):
		case strings.Contains(w, "'") && within.MatchString(w):
			w = `"` + w + `"`
		default:
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line += " " + w
	}
	return line
}

// set is the command that sets an option of the table.
func (f *Figures) set(key string, value any) string {
	return command("table", "alter", f.Table, "--set", fmt.Sprintf("%s=%v", key, value))
}

// others says how many more there are than the one an advice names.
func others(n int, noun string) string {
	switch n {
	case 1:
		return ""
	case 2:
		return fmt.Sprintf(" So it is with 1 other %s.", noun)
	}
	return fmt.Sprintf(" So it is with %d other %ss.", n-1, noun)
}

// severe is Warn from so much on.
func severe(figure, from int64) string {
	if figure >= from {
		return Warn
	}
	return Note
}

// age is a time for people.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}
