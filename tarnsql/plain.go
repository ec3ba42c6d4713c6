//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	_ "github.com/tarnlake/tarn/fileio/local" // scheme file
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// Parquet files on this machine whose rows need no merge are read by DuckDB's
// own reader: its strings come as dictionaries, which it groups by without looking
// at a row. A file qualifies when its footer says that it holds the columns wanted
// in the types that the table has. All else goes through our table function.

const (
	// leastPlainRows is from how many rows on looking at footers pays.
	leastPlainRows = 100_000
	// DuckDB's reader takes from DuckDB's memory what its sorts and joins then miss.
	leastPlainMemory, perThreadPlainMemory = 64 << 20, 16 << 20
	// mostPlainFiles bounds the text of a query and the footers looked at for one.
	mostPlainFiles = 1000
	// mostKnown bounds the files remembered.
	mostKnown = 16 << 10
)

// plainFiles are the data files that DuckDB reads by itself.
type plainFiles struct {
	root    string // the directory they lie in, without links, "/" at its end; "" for none
	least   int64  // rows
	threads int    // that look at footers

	mu    sync.Mutex
	known map[knownFile]string // the columns to select, "" when the file does not qualify
	texts map[string]string    // those of known, each once
}

type knownFile struct {
	path   string
	size   int64
	schema int64 // that it is read under
}

// plainScan is the part of a scan that DuckDB reads by itself.
type plainScan struct {
	groups []plainGroup
	rows   int64
	files  int
}

// plainGroup are files with the same columns.
type plainGroup struct {
	columns string
	paths   []string
}

// openPlain lets DuckDB read files below the directory that uri names, if it is
// one of this machine and memory suffices. The statements that do so come in the
// order given. Footers are kept in DuckDB's memory while it has room: each query
// needs them twice, and the files never change.
func openPlain(uri string, memory int64, threads int) (p *plainFiles, settings []string) {
	p = &plainFiles{least: leastPlainRows, threads: threads, known: map[knownFile]string{}, texts: map[string]string{}}
	if fileio.Scheme(uri) == "file" && memory >= leastPlainMemory && memory/int64(threads) >= perThreadPlainMemory {
		if dir, err := fileio.LocalPath(uri); err == nil {
			if p.root = realPath(dir); p.root != "" {
				p.root += "/"
				settings = append(settings, "SET GLOBAL allowed_directories = ["+quoteText(p.root)+"]")
			}
		}
	}
	return p, append(settings, "SET GLOBAL parquet_metadata_cache = true", "SET GLOBAL enable_external_access = false")
}

// patterns are what DuckDB takes a path for a pattern by, and what no path has.
const patterns = "*?[]{}\\\x00"

// realPath is path without links, also where it does not exist yet; "" for the
// root of the file system, and where DuckDB would read the name as a pattern.
func realPath(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			path = filepath.Join(real, rest)
			break
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	if path == string(filepath.Separator) || strings.ContainsAny(path, patterns) {
		return ""
	}
	return path
}

// take finds what of a planned scan DuckDB can read by itself and leaves the
// rest in s.own. Files that cannot be opened are left there too: reading them
// tells what is wrong.
func (p *plainFiles) take(ctx context.Context, s *scan) {
	s.own = s.splits
	if p.root == "" || s.system || s.rows < p.least || !plainTypes(s.fields) || s.pointed() {
		return
	}
	var files []table.DataFile
	for _, split := range s.splits {
		more, _, _ := split.Plain(func(table.DataFile) bool { return true })
		files = append(files, more...)
	}
	if rowsIn(files) < p.least || len(files) > mostPlainFiles {
		return
	}
	found := p.look(ctx, s, files)
	files = slices.DeleteFunc(files, func(f table.DataFile) bool { return found[f.URI].columns == "" })
	if rowsIn(files) < p.least {
		return
	}
	s.plain, s.own = plainScan{rows: rowsIn(files), files: len(files)}, nil
	for _, split := range s.splits {
		taken, rest, ok := split.Plain(func(f table.DataFile) bool { return found[f.URI].columns != "" })
		for _, f := range taken {
			s.plain.add(found[f.URI])
		}
		if ok {
			s.own = append(s.own, rest)
		}
	}
}

func rowsIn(files []table.DataFile) (n int64) {
	for _, f := range files {
		n += f.Rows
	}
	return n
}

func (p *plainScan) add(f foundFile) {
	i := slices.IndexFunc(p.groups, func(g plainGroup) bool { return g.columns == f.columns })
	if i < 0 {
		i = len(p.groups)
		p.groups = append(p.groups, plainGroup{columns: f.columns})
	}
	p.groups[i].paths = append(p.groups[i].paths, f.path)
}

// foundFile is where a file lies and what to select of it, "" when that needs
// our reader.
type foundFile struct{ path, columns string }

// look finds files by their URIs.
func (p *plainFiles) look(ctx context.Context, s *scan, files []table.DataFile) map[string]foundFile {
	out := make([]foundFile, len(files))
	real := map[string]string{}
	var group errgroup.Group
	group.SetLimit(p.threads)
	for i, f := range files {
		path, err := fileio.LocalPath(f.URI)
		if fileio.Scheme(f.URI) != "file" || err != nil {
			continue
		}
		dir, name := filepath.Split(path)
		if _, ok := real[dir]; !ok {
			real[dir] = realPath(dir)
		}
		path = filepath.Join(real[dir], name)
		if !strings.HasPrefix(path, p.root) || strings.ContainsAny(name, patterns) {
			continue
		}
		group.Go(func() error {
			out[i] = foundFile{path, p.columns(ctx, s, path, f)}
			return nil
		})
	}
	_ = group.Wait() // no error is ever given
	byURI := make(map[string]foundFile, len(files))
	for i, f := range files {
		byURI[f.URI] = out[i]
	}
	return byURI
}

// columns are the columns of s as they are to be selected from a file, "" when
// the file does not have them as they are.
func (p *plainFiles) columns(ctx context.Context, s *scan, path string, f table.DataFile) string {
	// A link may point out of the directory that DuckDB may read.
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() || st.Size() != f.Size {
		return ""
	}
	key := knownFile{path, f.Size, s.schema}
	p.mu.Lock()
	columns, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		return columns
	}
	if columns, ok = p.examine(ctx, s, path, f); !ok {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostKnown {
		clear(p.known)
		clear(p.texts)
	}
	if same, ok := p.texts[columns]; ok { // files of a table are alike: keep one text
		columns = same
	} else {
		p.texts[columns] = columns
	}
	p.known[key] = columns
	return columns
}

// examine reads the footer of a file; ok is false when it cannot.
func (p *plainFiles) examine(ctx context.Context, s *scan, path string, f table.DataFile) (columns string, ok bool) {
	fio, path, err := fileio.OpenURI(ctx, path, fileio.Settings{})
	if err != nil {
		return "", false
	}
	file, err := parquet.Open(ctx, fio, path, f.Size, nil)
	if err != nil {
		return "", false
	}
	defer file.Close()
	if !file.Portable() || file.RowCount() != f.Rows {
		return "", true
	}
	var out []string
	have := file.Fields()
	for _, want := range s.fields {
		i := plainField(have, want, f.SchemaID == s.schema)
		if i < 0 {
			return "", true
		}
		out = append(out, plainColumn(have[i].Name, want))
	}
	return strings.Join(out, ", "), true
}

// plainField is the column of a file that is the table's column want, −1 when
// none is. It goes by the id, or by the name where both are of one schema.
func plainField(have []types.Field, want types.Field, oneSchema bool) int {
	i := slices.IndexFunc(have, func(f types.Field) bool {
		if f.ID >= 0 || !oneSchema {
			return f.ID == want.ID
		}
		return f.Name == want.Name
	})
	if i < 0 || !samePlainType(have[i].Type, want.Type) {
		return -1
	}
	// DuckDB finds columns in any case.
	if same := slices.IndexFunc(have, func(f types.Field) bool { return strings.EqualFold(f.Name, have[i].Name) && f.Name != have[i].Name }); same >= 0 {
		return -1
	}
	return i
}

// plainColumn selects a column of a file as the table's. It says no more than it
// has to: DuckDB binds the text of each query twice.
func plainColumn(name string, want types.Field) string {
	out := quoteName(name)
	switch want.Type.Root {
	case types.Time, types.Timestamp, types.TimestampLTZ:
		// DuckDB's reader gives microseconds where we have milliseconds, and TIME as one with a zone.
		out = "CAST(" + out + " AS " + castName(want.Type) + ")"
	default:
		if name == want.Name {
			return out
		}
	}
	return out + " AS " + quoteName(want.Name)
}

// plainTypes reports columns that DuckDB's reader gives just as our table
// function does.
func plainTypes(fields []types.Field) bool {
	for _, f := range fields {
		switch f.Type.Root {
		case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Float, types.Double, types.Decimal,
			types.Char, types.VarChar, types.Binary, types.VarBinary, types.Date, types.Time:
		case types.Timestamp, types.TimestampLTZ:
			if f.Type.Precision > 6 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// samePlainType reports that the type of a file's column is that of the table's,
// as far as files tell: they know no length, and of time only the unit.
func samePlainType(have, want types.Type) bool {
	switch want.Root {
	case types.Char, types.VarChar:
		return have.IsString()
	case types.Binary, types.VarBinary:
		return have.Root == types.Binary || have.Root == types.VarBinary
	case types.Decimal:
		return have.Root == types.Decimal && have.Precision == want.Precision && have.Scale == want.Scale
	case types.Timestamp, types.TimestampLTZ:
		return have.Root == want.Root && types.TimeUnit(have.Precision) == types.TimeUnit(want.Precision)
	}
	return have.Root == want.Root
}

// pointed reports a predicate that names values of each column of the primary
// key: our reader finds single rows by the page index, which DuckDB's does not use.
func (s *scan) pointed() bool {
	keys := s.table.Schema().TrimmedPrimaryKeys()
	for _, k := range keys {
		if !pins(s.where, k) {
			return false
		}
	}
	return len(keys) > 0
}

// pins reports that e holds for some values of a column alone.
func pins(e expr.Expr, column string) bool {
	switch e := e.(type) {
	case expr.And:
		return slices.ContainsFunc(e, func(c expr.Expr) bool { return pins(c, column) })
	case expr.Compare:
		return e.Column == column && e.Op == expr.Eq
	case expr.In:
		return e.Column == column
	}
	return false
}

// text is what stands in a query for the reference that s is; number is that of
// its scan, for our table function.
func (s *scan) text(number int64) string {
	own := scanFunction + "(" + itoa(int(number)) + ")"
	switch {
	case s.counted && len(s.own) == 0:
		return "(SELECT 0 AS n)"
	case s.counted:
		return "(SELECT count(*) AS n FROM " + own + ")"
	case len(s.plain.groups) == 0:
		return own
	}
	var b strings.Builder
	for i, g := range s.plain.groups {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		} else {
			b.WriteByte('(')
		}
		b.WriteString("SELECT " + g.columns + " FROM read_parquet([")
		for k, path := range g.paths {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteText(path))
		}
		b.WriteString("], hive_partitioning = false, union_by_name = false)")
	}
	if len(s.own) > 0 {
		b.WriteString(" UNION ALL SELECT * FROM " + own)
	}
	b.WriteByte(')')
	return b.String()
}
