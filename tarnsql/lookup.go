//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// target is a table of a catalog.
type target struct {
	catalog string
	id      table.Identifier
}

// opened are the tables that a statement has opened so far.
type opened map[target]table.Table

// target reads the parts of a name; what is not named is the current one.
func (db *DB) target(parts []string) (target, catalog.Catalog, error) {
	name, database := db.cats.now()
	full := parts
	switch len(parts) {
	case 1:
		full = []string{name, database, parts[0]}
	case 2:
		full = []string{name, parts[0], parts[1]}
	}
	if len(full) != 3 || strings.Contains(full[2], ".") {
		return target{}, nil, tarnerr.New(tarnerr.Invalid, "reading name", "a table is named as database.table or catalog.database.table", "name", strings.Join(parts, "."))
	}
	name, cat, err := db.cats.find(full[0])
	if err != nil {
		return target{}, nil, err
	}
	id, err := table.ParseIdentifier(full[1] + "." + full[2])
	return target{name, id}, cat, err
}

// lookup opens the table named, or the one whose name differs in case alone.
func (db *DB) lookup(ctx context.Context, parts []string, seen opened) (table.Table, error) {
	at, cat, err := db.target(parts)
	if err != nil {
		return nil, err
	}
	if t := seen[at]; t != nil {
		return t, nil
	}
	t, err := cat.LoadTable(ctx, at.id)
	if tarnerr.KindOf(err) == tarnerr.NotFound {
		if at.id, err = near(ctx, cat, at.id, err); err != nil {
			return nil, err
		}
		if t := seen[at]; t != nil {
			return t, nil
		}
		t, err = cat.LoadTable(ctx, at.id)
	}
	if err != nil {
		return nil, err
	}
	seen[at] = t
	return t, nil
}

// near finds the table that a name in another case can only mean; else it adds
// names like it to the error.
func near(ctx context.Context, cat catalog.Catalog, id table.Identifier, cause error) (table.Identifier, error) {
	bases, err := cat.ListDatabases(ctx)
	if err != nil {
		return id, cause
	}
	base, ok := foldedName(bases, id.Database)
	if !ok {
		return id, tarnerr.New(tarnerr.NotFound, "looking up table", "no such database", "database", id.Database).
			WithHint("%s", suggestion(id.Database, bases, "databases"))
	}
	names, err := cat.ListTables(ctx, base)
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
