package golden_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/catalog/filesystem"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestRead reads every golden table and compares each of its expectations, line
// by line, streams in the order of their lines. What cannot be read yet stands in testdata/waiting.txt; a line there
// that reads right fails the test, so that the list only shrinks.
func TestRead(t *testing.T) {
	set := golden.Open(t)
	list := readWaiting(t)
	for _, name := range set.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccess(set.Table(t, name))
			whole := list.take(t, name, "*")
			for i, e := range a.expectations(t) {
				err := a.check(e, a.read)
				scan := i == 0 || !testing.Short()
				if _, offset := time.Now().Zone(); err == nil && scan && (offset == 0 || e.Sys == "") {
					err = a.check(e, a.scan) // system tables show times of the machine's zone
				}
				feature := list.take(t, name, e.name)
				waits := feature != nil || whole != nil && e.name == ""
				if feature == nil {
					feature = whole
				}
				switch {
				case waits && err == nil:
					t.Errorf("%s reads right: take it off testdata/waiting.txt", e.file())
				case err != nil && feature == nil:
					t.Errorf("%s: %v", e.file(), err)
				case err != nil && !(errors.Is(err, tarnerr.Unsupported) && feature.MatchString(err.Error())):
					t.Errorf("%s is not refused with %q, for what it waits for: %v", e.file(), feature, err)
				}
			}
			a.mem.AssertSize(t, 0)
		})
	}
	t.Cleanup(func() {
		for line := range list.lines {
			t.Errorf("testdata/waiting.txt: %q names nothing that is checked", line)
		}
	})
}

// waiting is the list of what cannot be read yet: lines of a table, an
// expectation (* = the table as a whole) and the missing feature.
type waiting struct {
	mu    sync.Mutex
	lines map[string]string
}

// features are what tables wait for, each with what a refusal for it names.
var features = map[string]*regexp.Regexp{
	"CSV data files":           regexp.MustCompile(`format=csv\b`),
	"JSON data files":          regexp.MustCompile(`format=json\b`),
	"branches":                 regexp.MustCompile(`: branches\b|name=\$branches\b`),
	"data evolution":           regexp.MustCompile(`option=data-evolution\.enabled value=true\b`),
	"deletion vectors":         regexp.MustCompile(`option=deletion-vectors\.enabled value=true\b|: deletion vectors\b`),
	"fallback branches":        regexp.MustCompile(`option=scan\.fallback-branch\b|: branches\b`),
	"manifests in Parquet":     regexp.MustCompile(`option=manifest\.format value=parquet\b`),
	"postponed buckets":        regexp.MustCompile(`option=bucket value=-2\b`),
	"tags":                     regexp.MustCompile(`: tags\b|name=\$tags\b`),
	"time travel by time":      regexp.MustCompile(`option=scan\.timestamp-millis\b`),
	"time travel by watermark": regexp.MustCompile(`option=scan\.watermark\b`),
}

func readWaiting(t *testing.T) *waiting {
	data, err := os.ReadFile("testdata/waiting.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{lines: map[string]string{}}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) < 3 {
			t.Fatalf("testdata/waiting.txt: %q is not `table expectation feature`", line)
		}
		w.lines[words[0]+" "+words[1]] = strings.Join(words[2:], " ")
	}
	return w
}

// take crosses a line off the list and returns what a refusal for its feature
// names, nil when there is no such line.
func (w *waiting) take(t *testing.T, table, expectation string) *regexp.Regexp {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := table + " " + expectation
	feature, ok := w.lines[line]
	if !ok {
		return nil
	}
	delete(w.lines, line)
	words := features[feature]
	if words == nil {
		t.Fatalf("testdata/waiting.txt: %q names no feature that is known here", feature)
	}
	return words
}

// expectation is what one read of a table must give.
type expectation struct {
	name     string // of the file: "" for expected.jsonl, else expected-NAME.jsonl
	Name     string `json:"name"`
	Filter   string
	Project  []string
	Options  map[string]string
	Snapshot int64
	Tag      string
	Branch   string
	Sys      string
	Stream   any
	From     any
	Kind     bool
}

// follows is where a stream begins, nil where the rows of a state are read.
func (e expectation) follows() *table.Start {
	if e.Stream == nil || e.Stream == false {
		return nil
	}
	from := fmt.Sprint(e.From)
	if id, err := strconv.ParseInt(from, 10, 64); err == nil {
		return &table.Start{Mode: table.StartAt, Snapshot: id}
	}
	return &table.Start{Mode: table.StartEarliest}
}

func (e expectation) file() string {
	if e.name == "" {
		return "expected.jsonl"
	}
	return "expected-" + e.name + ".jsonl"
}

// expectations lists the expected files of a table with the reads that give
// them. What pypaimon reads is what Java reads, in other spelling.
func (a *access) expectations(t *testing.T) []expectation {
	var scenario struct{ Reads []expectation }
	if err := json.Unmarshal(a.Scenario, &scenario); err != nil {
		t.Fatal(err)
	}
	var out []expectation
	for file := range a.Expected {
		name, ok := strings.CutSuffix(file, ".jsonl")
		if name = strings.TrimPrefix(strings.TrimPrefix(name, "expected"), "-"); !ok || name == "pypaimon" {
			continue
		}
		e := expectation{name: name}
		var n int64
		switch at := slices.IndexFunc(scenario.Reads, func(r expectation) bool { return r.Name == name }); {
		case at >= 0:
			e = scenario.Reads[at]
			e.name = name
		case name == "":
		case name == "files", name == "snapshots":
			e.Sys = name
		case name == "changes":
			e.Stream = "earliest"
		default:
			if _, err := fmt.Sscanf(name, "snapshot-%d", &n); err != nil {
				t.Fatalf("no read gives %s", file)
			}
			e.Snapshot = n
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y expectation) int { return strings.Compare(x.name, y.name) })
	return out
}

// differs names the reads for which Java 1.4.2 gives wrong rows, and why. The
// right ones stand in testdata/differs.
var differs = map[string]string{
	"types-scalar-orc.":           "Java gives Julian dates before 1582 as Gregorian ones, and cuts the blanks of CHAR; its ORC files hold what was written, but for the last second before 1970",
	"types-scalar-orc.filter-ts6": "as above",
	"pk-composite-keys.filter-d":  "Java finds no row when the column of the filter is not among those projected, and 20 when it is",
}

// check reads and compares.
func (a *access) check(e expectation, read func(e expectation, columns []string) ([]string, error)) error {
	expected := a.Expected[e.file()]
	if key := a.Name + "." + e.name; differs[key] != "" {
		var err error
		if expected, err = os.ReadFile("testdata/differs/" + key + ".jsonl"); err != nil {
			return err
		}
	}
	want := unsorted(expected, a.FileIO.URI(a.Warehouse))
	if e.follows() == nil {
		slices.Sort(want)
	}
	columns := e.Project
	if e.Sys != "" && columns == nil && len(want) > 0 {
		columns = memberNames(want[0]) // the goldens hold some columns of system tables only
	}
	got, err := read(e, columns)
	if err != nil {
		return err
	}
	if slices.Equal(got, want) {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d lines, want %d", len(got), len(want))
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&b, "\n  have %s", l)
			break
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&b, "\n  want %s", l)
			break
		}
	}
	return errors.New(b.String())
}

// address is how Java shows an array of bytes, which says nothing; hexadecimal
// digits stand there in Tarn.
var address = regexp.MustCompile(`\[B@[0-9a-f]+|hex:[0-9a-f]*`)

func lines(data []byte, warehouse string) []string {
	out := unsorted(data, warehouse)
	slices.Sort(out)
	return out
}

func unsorted(data []byte, warehouse string) []string {
	var out []string
	for l := range strings.Lines(string(data)) {
		l = strings.TrimSuffix(l, "\n")
		if strings.Contains(l, `"min_key"`) {
			l = address.ReplaceAllString(l, "bytes")
		}
		out = append(out, strings.ReplaceAll(l, "$WAREHOUSE", warehouse))
	}
	return out
}

// memberNames are the names of a JSON object's members in order.
func memberNames(line string) []string {
	d := json.NewDecoder(strings.NewReader(line))
	var out []string
	depth := 0
	for name := true; ; {
		tok, err := d.Token()
		if err != nil {
			return out
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			continue
		}
		if depth == 1 {
			if name {
				out = append(out, tok.(string))
			}
			name = !name
		}
	}
}

// read gives the sorted canonical lines of a read, through the stages, split
// after split.
func (a *access) read(e expectation, columns []string) ([]string, error) {
	ctx := context.Background()
	for feature, asked := range map[string]bool{
		"tags": e.Tag != "", "branches": e.Branch != "", "row kinds": e.Kind,
	} {
		if asked {
			return nil, tarnerr.New(tarnerr.Unsupported, "reading golden table", feature)
		}
	}
	for k, v := range e.Options {
		var id int64
		if n, _ := fmt.Sscanf(v, "$time:%d", &id); n == 1 {
			s, err := a.snapshots.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			e.Options[k] = fmt.Sprint(s.TimeMillis)
		}
	}
	if v := e.Options["scan.snapshot-id"]; v != "" {
		if _, err := fmt.Sscan(v, &e.Snapshot); err != nil {
			return nil, err
		}
	}
	if e.follows() != nil || e.Options["incremental-between"] != "" || e.Sys == systable.RowTracking {
		return a.scan(e, columns) // scan is what walks from snapshot to snapshot, and what adds row ids
	}
	var snap *snapshot.Snapshot
	if e.Snapshot != 0 {
		var err error
		if snap, err = a.snapshots.Get(ctx, e.Snapshot); err != nil {
			return nil, err
		}
	}
	s, err := a.stages(ctx, snap, e.Options)
	if err != nil {
		return nil, err
	}
	fields := s.plan.Schema.Fields
	if e.Sys != "" {
		if fields, err = systable.Fields(e.Sys); err != nil {
			return nil, err
		}
	}
	filter, err := parseFilter(e.Filter, fields)
	if err != nil {
		return nil, err
	}
	where, err := expr.Bind(filter, fields)
	if err != nil {
		return nil, err
	}
	var r batch.Reader
	if e.Sys != "" {
		r, err = systable.Open(ctx, systable.Config{Config: s.plan, Mem: a.mem, Zone: time.UTC}, e.Sys,
			systable.Request{Columns: columns, Where: where, SnapshotID: e.Snapshot})
	} else {
		var p *plan.Result
		if p, err = plan.Plan(ctx, s.plan, plan.Request{Where: where, Snapshot: snap}); err != nil {
			return nil, err
		}
		r, err = read.Open(ctx, s.read, read.Request{Columns: columns, Where: where}, p.Splits)
	}
	if err != nil {
		return nil, err
	}
	return show(ctx, r, fields, columns)
}

// scan is read through the public packages, with two workers.
func (a *access) scan(e expectation, columns []string) ([]string, error) {
	ctx := context.Background()
	c, err := filesystem.New(a.Warehouse, paimon.Components{
		FileIO: a.FileIO, Env: env.Real(), Alloc: a.mem, Budget: budget.New(64 << 20), Workers: 2, Events: &event.Listener{},
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	tb, err := c.LoadTable(ctx, table.Identifier{Database: a.Database, Table: a.Table.Table, System: e.Sys})
	if err != nil {
		return nil, err
	}
	if v := e.Options["scan.snapshot-id"]; v != "" {
		if _, err := fmt.Sscan(v, &e.Snapshot); err != nil {
			return nil, err
		}
	}
	s, err := tb.SchemaAt(ctx, e.Snapshot)
	if err != nil {
		return nil, err
	}
	where, err := parseFilter(e.Filter, s.Fields)
	if err != nil {
		return nil, err
	}
	if from := e.follows(); from != nil {
		return a.follow(ctx, tb, table.FollowOptions{From: *from, Columns: columns, Where: where, Options: e.Options, Workers: 1})
	}
	r, err := tb.Scan(ctx, table.Scan{Columns: columns, Where: where, SnapshotID: e.Snapshot, Options: e.Options})
	if err != nil {
		return nil, err
	}
	return show(ctx, r, s.Fields, columns)
}

// follow gives the lines of a stream up to the latest snapshot.
func (a *access) follow(ctx context.Context, tb table.Table, opts table.FollowOptions) ([]string, error) {
	var err error
	if opts.To, err = a.snapshots.LatestID(ctx); err != nil {
		return nil, err
	}
	f, err := tb.Follow(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	w := rowtext.NewStream(&b, tb.Schema().Fields)
	for {
		c, err := f.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		w.Begin(c.Snapshot.ID)
		for {
			rec, err := c.Rows.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			if err := w.Write(rec); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return unsorted(b.Bytes(), ""), nil
}

// show prints what r returns as sorted canonical lines and closes it.
func show(ctx context.Context, r batch.Reader, fields []types.Field, columns []string) ([]string, error) {
	defer r.Close()
	shown := fields
	if columns != nil {
		shown = nil
		for _, c := range columns {
			i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == c })
			if i < 0 {
				return nil, fmt.Errorf("there is no column %s", c)
			}
			shown = append(shown, fields[i])
		}
	}
	var b bytes.Buffer
	w := rowtext.NewJSONL(&b, shown, false)
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := w.Write(rec); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return lines(b.Bytes(), ""), nil
}

var (
	conjunction = regexp.MustCompile(` AND `)
	term        = regexp.MustCompile(`^\s*(\w+)\s+(=|!=|<=|>=|<|>|in|prefix|is null|is not null)\s*(.*?)\s*$`)
)

// parseFilter reads the filter of a scenario: `col OP json` joined by AND.
func parseFilter(text string, fields []types.Field) (expr.Expr, error) {
	if text == "" {
		return nil, nil
	}
	var all expr.And
	for _, part := range conjunction.Split(text, -1) {
		m := term.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("filter %q is not understood", part)
		}
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == m[1] })
		if i < 0 {
			return nil, fmt.Errorf("filter on %q, which is no column", m[1])
		}
		var values []types.Value
		if !strings.HasPrefix(m[2], "is") {
			list := m[3]
			if m[2] != "in" {
				list = "[" + list + "]"
			}
			var literals []json.RawMessage
			if err := json.Unmarshal([]byte(list), &literals); err != nil {
				return nil, err
			}
			for _, l := range literals {
				text := string(l)
				if err := json.Unmarshal(l, &text); err != nil {
					text = string(l) // a number or a boolean: its text is the value
				}
				v, err := types.ParseValue(fields[i].Type, text)
				if err != nil {
					return nil, err
				}
				values = append(values, v)
			}
		}
		ops := map[string]expr.Op{"=": expr.Eq, "!=": expr.Ne, "<": expr.Lt, "<=": expr.Le, ">": expr.Gt, ">=": expr.Ge}
		switch m[2] {
		case "is null":
			all = append(all, expr.IsNull{Column: m[1]})
		case "is not null":
			all = append(all, expr.Not{Child: expr.IsNull{Column: m[1]}})
		case "in":
			all = append(all, expr.In{Column: m[1], Values: values})
		case "prefix":
			all = append(all, expr.Prefix{Column: m[1], Prefix: values[0].(string)})
		default:
			all = append(all, expr.Compare{Column: m[1], Op: ops[m[2]], Value: values[0]})
		}
	}
	return all, nil
}

// access opens one golden table for reading.
type access struct {
	*golden.Table
	mem       *memory.CheckedAllocator
	schemas   *schema.Store
	snapshots *snapshot.Store
	layout    layout.Table
}

// stages are the configurations of plan and read for one read.
type stages struct {
	plan plan.Config
	read read.Config
}

func newAccess(tb *golden.Table) *access {
	l := layout.Table{Dir: tb.Path()}
	return &access{
		Table: tb, mem: memory.NewCheckedAllocator(memory.DefaultAllocator), layout: l,
		schemas: schema.NewStore(tb.FileIO, tb.Path(), env.Real()), snapshots: snapshot.NewStore(tb.FileIO, l),
	}
}

func (a *access) stages(ctx context.Context, snap *snapshot.Snapshot, dynamic map[string]string) (*stages, error) {
	s, err := a.schemas.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if snap != nil {
		// A snapshot is read under the schema it had.
		if s, err = a.schemas.Get(ctx, snap.SchemaID); err != nil {
			return nil, err
		}
	}
	options := map[string]string{}
	for _, m := range []map[string]string{s.Options, dynamic} {
		for k, v := range m {
			options[k] = v
		}
	}
	if err := option.CheckRead(options, option.Table{PrimaryKey: s.HasPrimaryKey()}); err != nil {
		return nil, err
	}
	o, err := option.Parse(options)
	if err != nil {
		return nil, err
	}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: a.FileIO, Table: a.layout, Partition: s.Select(s.PartitionKeys)})
	if err != nil {
		return nil, err
	}
	return &stages{
		plan: plan.Config{
			FileIO: a.FileIO, Layout: a.layout, Schema: s, Options: o, Schemas: a.schemas, Snapshots: a.snapshots, Manifests: manifests,
		},
		read: read.Config{
			Files:  &run.Source{FileIO: a.FileIO, Format: formats.ByName, Schema: a.schemas.Get, Table: s, Mem: a.mem},
			Layout: a.layout, Options: o,
		},
	}, nil
}
