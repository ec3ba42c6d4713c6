package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	gotable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// layouts of rows on a terminal.
const (
	layoutAuto = "auto" // columns side by side where they fit, else one below the other
	layoutOff  = "off"  // side by side
	layoutOn   = "on"   // one below the other
)

// narrowest is how narrow a column may become before auto puts columns one below
// the other.
const narrowest = 8

// gridOutput draws rows for a terminal: cells are cut so that a row fits into its
// width, and nothing of the data reaches the terminal as a command.
type gridOutput struct {
	w       io.Writer
	fields  []types.Field
	columns int // of the terminal, 0 = without end
	layout  string
	faint   func(string) string // sets NULL apart from the text

	page  [][]string
	rows  int64
	drawn bool
	cut   bool // a cell was
}

func (o *gridOutput) null() string { return o.faint("NULL") }

// Write implements output.
func (o *gridOutput) Write(rec arrow.RecordBatch) error {
	var canonical bytes.Buffer
	c := rowtext.NewCSV(&canonical, o.fields, false, ',', "null")
	if err := c.Write(rec); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	rows, err := csv.NewReader(&canonical).ReadAll()
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, "laying out rows", err)
	}
	for y, row := range rows[1:] {
		for x := range row {
			if rec.Column(x).IsNull(y) {
				row[x] = o.null()
			} else {
				row[x] = harmless(row[x])
			}
		}
		o.page = append(o.page, row)
		o.rows++
		if len(o.page) == pageRows {
			if err := o.draw(); err != nil {
				return err
			}
		}
	}
	return nil
}

// harmless shows control characters, but for line ends, instead of sending them.
func harmless(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Close implements output.
func (o *gridOutput) Close() error {
	if len(o.page) > 0 || !o.drawn {
		return o.draw()
	}
	return nil
}

func (o *gridOutput) draw() error {
	first := o.rows - int64(len(o.page)) + 1
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = harmless(f.Name)
	}
	page := o.page
	o.page, o.drawn = nil, true
	widths, fit := o.widths(names, page)
	if o.layout == layoutOn || o.layout == layoutAuto && !fit && len(page) > 0 {
		return o.drawRecords(names, page, first)
	}
	t := gotable.NewWriter()
	t.SetStyle(gotable.StyleLight)
	t.Style().Format.Header = text.FormatDefault // names as they are
	t.Style().Format.HeaderAlign = text.AlignLeft
	var header gotable.Row
	for i, n := range names {
		header = append(header, o.shorten(n, widths[i]))
	}
	t.AppendHeader(header)
	var config []gotable.ColumnConfig
	for i, f := range o.fields {
		if isNumber(f.Type) {
			config = append(config, gotable.ColumnConfig{Number: i + 1, Align: text.AlignRight})
		}
	}
	t.SetColumnConfigs(config)
	for _, r := range page {
		row := make(gotable.Row, len(r))
		for i, c := range r {
			row[i] = o.shorten(c, widths[i])
		}
		t.AppendRow(row)
	}
	_, err := io.WriteString(o.w, t.Render()+"\n")
	return outErr(err)
}

func isNumber(t types.Type) bool {
	return t.IsInteger() || t.Root == types.Decimal || t.Root == types.Float || t.Root == types.Double
}

// widths are the widths of the columns; fit is false when some would be narrower
// than narrowest, or are so by force.
func (o *gridOutput) widths(names []string, page [][]string) (widths []int, fit bool) {
	widths = make([]int, len(names))
	for i, n := range names {
		widths[i] = max(1, text.LongestLineLen(n))
	}
	for _, r := range page {
		for i, c := range r {
			widths[i] = max(widths[i], text.LongestLineLen(c))
		}
	}
	if o.columns == 0 {
		return widths, true
	}
	room := o.columns - 3*len(names) - 1 // a bar and two spaces for each, and the last bar
	// The most a column may have, so that all have room: those that need less leave it
	// to the others.
	sorted := slices.Sorted(slices.Values(widths))
	most, left := 0, room
	for i, w := range sorted {
		most = left / (len(sorted) - i)
		if w > most {
			break
		}
		left -= w
		most = w
	}
	fit = most >= min(narrowest, sorted[len(sorted)-1])
	for i := range widths {
		widths[i] = max(1, min(widths[i], most))
	}
	return widths, fit
}

// shorten cuts each line of a cell to a width.
func (o *gridOutput) shorten(cell string, width int) string {
	if text.LongestLineLen(cell) <= width {
		return cell
	}
	o.cut = true
	lines := strings.Split(cell, "\n")
	for i, l := range lines {
		lines[i] = text.Snip(l, width, "…")
	}
	return strings.Join(lines, "\n")
}

// drawRecords prints each row as a list of its columns, in full.
func (o *gridOutput) drawRecords(names []string, page [][]string, first int64) error {
	widest := 0
	for _, n := range names {
		widest = max(widest, text.StringWidthWithoutEscSequences(n))
	}
	var b strings.Builder
	for y, r := range page {
		fmt.Fprintf(&b, "── row %d ──\n", first+int64(y))
		for x, c := range r {
			c = strings.ReplaceAll(c, "\n", "\n"+strings.Repeat(" ", widest)+" │ ")
			b.WriteString(text.Pad(names[x], widest, ' ') + " │ " + c + "\n")
		}
	}
	_, err := io.WriteString(o.w, b.String())
	return outErr(err)
}
