//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// travel is AT (unit => value): an earlier state of a table.
type travel struct {
	unit     string // VERSION or TIMESTAMP
	value    node
	from, to int // bytes of the value
}

// travelTo is the snapshot that r's AT names.
func (db *DB) travelTo(ctx context.Context, source *edited, r *reference) (int64, error) {
	const op = "reading query"
	if r.travel.unit == "TIMESTAMP" {
		millis, err := db.engine.instant(ctx, source, r.travel)
		if err != nil {
			return 0, err
		}
		return snapshotAt(ctx, r.scan.table, millis)
	}
	value := r.travel.value.child("value")
	version := ""
	if r.travel.value.text("class") == "CONSTANT" {
		switch value.child("type").text("id") {
		case "INTEGER", "BIGINT":
			version = number(value["value"])
		case "VARCHAR":
			if version = value.text("value"); strings.Trim(version, "0123456789") != "" {
				return 0, tarnerr.New(tarnerr.Unsupported, op, "reading a tag by its name", "table", r.scan.table.Name(), "tag", version).
					WithHint("Name the number of a snapshot.")
			}
		}
	}
	if version == "" {
		return 0, tarnerr.New(tarnerr.Unsupported, op, "a version that is not the number of a snapshot", "table", r.scan.table.Name()).
			WithHint("`SELECT snapshot_id, commit_time FROM \"%s$snapshots\"` lists the snapshots.", r.name())
	}
	id, err := strconv.ParseInt(version, 10, 64)
	if err != nil || id < 1 {
		return 0, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", r.scan.table.Name(), "version", version)
	}
	return id, nil
}

// instant computes a time in milliseconds; one without a zone is of the zone of
// the session.
func (e *engine) instant(ctx context.Context, source *edited, t *travel) (int64, error) {
	const op = "reading query"
	if slices.ContainsFunc(sqltext.Lex(source.text[t.from:t.to]), func(t sqltext.Token) bool { return isOne(t, queryWords) }) {
		return 0, tarnerr.New(tarnerr.Unsupported, op, "a query for the time of an earlier state")
	}
	value := source.apply([]edit{{0, t.from, ""}, {t.to, len(source.text), ""}}).
		wrap("SELECT coalesce(epoch_ms(CAST((", "\n) AS TIMESTAMPTZ))::VARCHAR, '')")
	text, err := e.text(ctx, value)
	if err != nil {
		return 0, err
	}
	millis, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, tarnerr.New(tarnerr.Invalid, op, "the time is null")
	}
	return millis, nil
}

// queryWords make rows of something, perhaps of a file, inside of an expression.
var queryWords = []string{"SELECT", "FROM", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "SHOW", "SUMMARIZE"}

// snapshotAt is the latest snapshot that was committed at or before a time.
func snapshotAt(ctx context.Context, t table.Table, millis int64) (int64, error) {
	latest, err := t.Snapshot(ctx, 0)
	if err != nil {
		return 0, err
	}
	if latest.TimeMillis <= millis {
		return latest.ID, nil
	}
	first := latest
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return 0, err
		}
		first = s
		break
	}
	if first.TimeMillis > millis {
		kind, cause := tarnerr.NotFound, "the table had no snapshot at that time"
		if first.ID > 1 {
			kind, cause = tarnerr.Expired, "snapshots of that time are no longer kept"
		}
		return 0, tarnerr.New(kind, "reading query", cause, "table", t.Name(), "time", utcText(millis), "earliest", first.ID, "committed", utcText(first.TimeMillis))
	}
	at, after := first.ID, latest.ID
	for after-at > 1 {
		mid := at + (after-at)/2
		s, err := t.Snapshot(ctx, mid)
		switch {
		case tarnerr.KindOf(err) == tarnerr.Expired: // since the first was looked for
			at = mid
		case err != nil:
			return 0, err
		case s.TimeMillis <= millis:
			at = mid
		default:
			after = mid
		}
	}
	return at, nil
}

func utcText(millis int64) string {
	t := types.Type{Root: types.TimestampLTZ, Precision: 3}
	return types.FormatValue(t, types.Instant{Millis: millis})
}

// The words for an earlier state that DuckDB does not read.
var (
	versionWords = []string{"VERSION", "SYSTEM_VERSION"}
	timeWords    = []string{"TIMESTAMP", "SYSTEM_TIME"}
)

// afterTable are words that can follow a table, and are no alias of it.
var afterTable = []string{
	"WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "EXCEPT", "INTERSECT",
	"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ASOF", "POSITIONAL", "SEMI", "ANTI", "ON", "USING",
	"TABLESAMPLE", "PIVOT", "UNPIVOT", "SET", "SELECT", "FROM", "AT", "FOR",
}

// travelClause is a clause about an earlier state, between tokens.
type travelClause struct {
	from, to   int    // tokens, to is the one after
	first, end int    // tokens of the value in words of Flink or Spark, 0 for AT (…)
	unit       string // then
	seconds    bool   // the value is a number of seconds
}

// refusedWords finds what would be read as something else: options in a hint,
// and states that are named by a tag.
func refusedWords(tokens []sqltext.Token) (feature string, at int) {
	for i, t := range tokens {
		switch {
		case t.Kind == sqltext.Hint:
			return "options in a hint", t.Start
		case t.Is("AT") && i+3 < len(tokens) && tokens[i+1].Is("(") && tokens[i+3].Is("=>") && (tokens[i+2].Is("TAG") || tokens[i+2].Is("BRANCH")):
			return "reading a " + strings.ToLower(tokens[i+2].Text) + " by its name", tokens[i+2].Start
		}
	}
	return "", 0
}

// travels finds `AT (…)`, and `[FOR] VERSION|TIMESTAMP|SYSTEM_TIME AS OF …`.
func travels(tokens []sqltext.Token) []travelClause {
	var out []travelClause
	for i := 1; i < len(tokens); i++ {
		if c, ok := readTravel(tokens, i); ok {
			out = append(out, c)
			i = c.to - 1
		}
	}
	return out
}

func readTravel(tokens []sqltext.Token, i int) (travelClause, bool) {
	at := func(n int) sqltext.Token {
		if n < len(tokens) {
			return tokens[n]
		}
		return sqltext.Token{}
	}
	if at(i).Is("AT") && at(i+1).Is("(") && (isOne(at(i+2), versionWords) || isOne(at(i+2), timeWords)) && at(i+3).Is("=>") {
		end := closing(tokens, i+1)
		return travelClause{from: i, to: end + 1}, end < len(tokens)
	}
	before := tokens[i-1]
	c := travelClause{from: i, unit: "VERSION"}
	if at(i).Is("FOR") {
		i++
	}
	switch {
	case isOne(at(i), timeWords):
		c.unit = "TIMESTAMP"
	case !isOne(at(i), versionWords):
		return c, false
	}
	if !at(i+1).Is("AS") || !at(i+2).Is("OF") || before.Kind != sqltext.Word && before.Kind != sqltext.Quoted && !before.Is(")") {
		return c, false
	}
	c.first = i + 3
	c.end = valueEnd(tokens, c.first)
	c.to = c.end
	c.seconds = c.unit == "TIMESTAMP" && c.end == c.first+1 && tokens[c.first].Kind == sqltext.Numeral
	return c, c.end > c.first
}

func isOne(t sqltext.Token, words []string) bool {
	for _, w := range words {
		if t.Is(w) {
			return true
		}
	}
	return false
}

// valueEnd is the token after a value: operands with + and - between.
func valueEnd(tokens []sqltext.Token, i int) int {
	for {
		end := operandEnd(tokens, i)
		if end == i {
			return i
		}
		if end >= len(tokens) || !tokens[end].Is("+") && !tokens[end].Is("-") {
			return end
		}
		next := operandEnd(tokens, end+1)
		if next == end+1 {
			return end
		}
		i = end + 1
	}
}

// operandEnd is the token after a literal, a call or what stands in parentheses.
func operandEnd(tokens []sqltext.Token, i int) int {
	is := func(n int, kind sqltext.Kind) bool { return n < len(tokens) && tokens[n].Kind == kind }
	switch {
	case is(i, sqltext.Numeral), is(i, sqltext.String):
		return i + 1
	case i < len(tokens) && tokens[i].Is("("):
		return min(closing(tokens, i)+1, len(tokens))
	case !is(i, sqltext.Word):
		return i
	case tokens[i].Is("INTERVAL") && (is(i+1, sqltext.String) || is(i+1, sqltext.Numeral)):
		if is(i+2, sqltext.Word) && !isOne(tokens[i+2], afterTable) && !tokens[i+2].Is("AS") {
			return i + 3 // the unit
		}
		return i + 2
	case is(i+1, sqltext.String):
		return i + 2
	case i+1 < len(tokens) && tokens[i+1].Is("("):
		return min(closing(tokens, i+1)+1, len(tokens))
	case tokens[i].Is("CURRENT_TIMESTAMP"), tokens[i].Is("LOCALTIMESTAMP"), tokens[i].Is("CURRENT_DATE"):
		return i + 1
	}
	return i
}

// edits turns the clause into AT (…) behind the table's alias, as DuckDB reads it.
func (c travelClause) edits(text string, tokens []sqltext.Token) []edit {
	start, end := tokens[c.from].Start, tokens[c.to-1].End()
	written := text[start:end]
	if c.unit != "" {
		value := text[tokens[c.first].Start:tokens[c.end-1].End()]
		if c.seconds { // as Spark has it
			value = "to_timestamp(" + value + ")"
		}
		written = "AT (" + c.unit + " => " + value + ")"
	}
	last := c.aliasEnd(tokens)
	switch {
	case last >= 0:
		return []edit{{start, end, ""}, {last, last, " " + written}}
	case c.unit == "":
		return nil
	case c.seconds:
		return []edit{{start, end, written}}
	}
	return []edit{{start, tokens[c.first].Start, "AT (" + c.unit + " => "}, {end, end, ")"}}
}

// aliasEnd is the byte after the alias, and its columns, that follow; -1 for none.
func (c travelClause) aliasEnd(tokens []sqltext.Token) int {
	i := c.to
	explicit := i < len(tokens) && tokens[i].Is("AS")
	if explicit {
		i++
	}
	if i >= len(tokens) || tokens[i].Kind != sqltext.Quoted && (tokens[i].Kind != sqltext.Word || !explicit && isOne(tokens[i], afterTable)) {
		return -1
	}
	if i+2 < len(tokens) && tokens[i+1].Is("AS") && tokens[i+2].Is("OF") {
		return -1 // another clause
	}
	if i+1 < len(tokens) && tokens[i+1].Is("(") {
		if end := closing(tokens, i+1); end < len(tokens) {
			return tokens[end].End()
		}
	}
	return tokens[i].End()
}
