//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// identifier reads the parts of a name, the database being the current one when
// only the table is named.
func (db *DB) identifier(parts []string) (table.Identifier, error) {
	if len(parts) == 1 {
		parts = []string{db.Database(), parts[0]}
	}
	if len(parts) != 2 || strings.Contains(parts[1], ".") {
		return table.Identifier{}, tarnerr.New(tarnerr.Invalid, "reading name", "a table is named as database.table", "name", strings.Join(parts, "."))
	}
	return table.ParseIdentifier(parts[0] + "." + parts[1])
}

// lookup opens the table named, or the one whose name differs in case alone.
func (db *DB) lookup(ctx context.Context, parts []string, opened map[table.Identifier]table.Table) (table.Table, error) {
	id, err := db.identifier(parts)
	if err != nil {
		return nil, err
	}
	if t := opened[id]; t != nil {
		return t, nil
	}
	t, err := db.cat.LoadTable(ctx, id)
	if tarnerr.KindOf(err) == tarnerr.NotFound {
		var other table.Identifier
		if other, err = db.near(ctx, id, err); err != nil {
			return nil, err
		}
		if t := opened[other]; t != nil {
			return t, nil
		}
		t, err = db.cat.LoadTable(ctx, other)
	}
	if err != nil {
		return nil, err
	}
	opened[t.Name()] = t
	return t, nil
}

// near finds the table that a name in another case can only mean; else it adds
// names like it to the error.
func (db *DB) near(ctx context.Context, id table.Identifier, cause error) (table.Identifier, error) {
	bases, err := db.cat.ListDatabases(ctx)
	if err != nil {
		return id, cause
	}
	base, ok := foldedName(bases, id.Database)
	if !ok {
		return id, tarnerr.New(tarnerr.NotFound, "looking up table", "no such database", "database", id.Database).
			WithHint("%s", suggestion(id.Database, bases, "databases"))
	}
	names, err := db.cat.ListTables(ctx, base)
	if err != nil {
		return id, cause
	}
	name, ok := foldedName(names, id.Table)
	if !ok {
		return id, tarnerr.New(tarnerr.NotFound, "looking up table", "no such table", "table", id.Database+"."+id.Table).
			WithHint("%s", suggestion(id.Table, names, "tables"))
	}
	if base == id.Database && name == id.Table {
		return id, cause // its branch or system table is missing
	}
	id.Database, id.Table = base, name
	return id, nil
}

// foldedName is the only name that equals name but for case; an exact one wins.
func foldedName(names []string, name string) (string, bool) {
	if slices.Contains(names, name) {
		return name, true
	}
	found := ""
	for _, n := range names {
		if strings.EqualFold(n, name) {
			if found != "" {
				return "", false
			}
			found = n
		}
	}
	return found, found != ""
}

// suggestion names what name was perhaps meant to be, else some of all.
func suggestion(name string, all []string, what string) string {
	var near []string
	for _, n := range all {
		if distance(strings.ToLower(n), strings.ToLower(name)) <= max(min(2, len(name)/2), len(name)/3) {
			near = append(near, n)
		}
	}
	if near != nil {
		return "Did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(all) == 0 {
		return "There are no " + what + "."
	}
	const most = 10
	if len(all) > most {
		return "Some of the " + what + " are " + strings.Join(all[:most], ", ") + "."
	}
	return "The " + what + " are " + strings.Join(all, ", ") + "."
}

// distance is how many letters are to be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
