package table

import (
	"strings"
	"unicode"

	"github.com/tarnlake/tarn/tarnerr"
)

// Identifier names a table: database, table, and optionally a branch or a
// system table, written db.table$branch_name$system.
type Identifier struct {
	Database string
	Table    string
	Branch   string // "" = main
	System   string // "" = the data itself; snapshots, files, schemas, options …
}

// ParseIdentifier reads "db.table", "table" (database "default"), and the forms
// with $branch_x and $system.
func ParseIdentifier(s string) (Identifier, error) {
	var id Identifier
	db, object, ok := strings.Cut(s, ".")
	if !ok {
		db, object = "default", s
	}
	parts := strings.Split(object, "$")
	id.Database, id.Table = db, parts[0]
	rest := parts[1:]
	if len(rest) > 0 && strings.HasPrefix(rest[0], "branch_") {
		id.Branch = strings.TrimPrefix(rest[0], "branch_")
		rest = rest[1:]
		if err := CheckBranch(id.Branch); err != nil {
			return Identifier{}, err
		}
	}
	if len(rest) > 0 {
		id.System = rest[0]
		rest = rest[1:]
		if id.System == "" {
			return Identifier{}, badName(s, "empty system table name")
		}
	}
	if len(rest) > 0 {
		return Identifier{}, badName(s, "too many $ parts")
	}
	for _, n := range []string{id.Database, id.Table} {
		if err := CheckName(n); err != nil {
			return Identifier{}, err
		}
	}
	return id, nil
}

// CheckName refuses names of databases, tables, branches and tags that could
// leave their directory or cannot be told apart.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return badName(name, "empty name")
	case name == "." || strings.Contains(name, ".."):
		return badName(name, "name with ..")
	case strings.ContainsAny(name, `/\`):
		return badName(name, "name with a path separator")
	case strings.ContainsAny(name, ".$"):
		return badName(name, "name with . or $")
	case strings.ContainsFunc(name, unicode.IsControl):
		return badName(name, "name with a control character")
	}
	return nil
}

// CheckBranch refuses what cannot be the name of a branch: what could leave its
// directory, and what Paimon reserves ("main", digits alone).
func CheckBranch(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return badName(name, "empty branch name")
	case name == "main" || strings.Trim(name, "0123456789") == "":
		return badName(name, "branch name that Paimon reserves")
	case name == "." || strings.Contains(name, ".."):
		return badName(name, "branch name with ..")
	case strings.ContainsAny(name, `/\$`):
		return badName(name, "branch name with a path separator or $")
	case strings.ContainsFunc(name, unicode.IsControl):
		return badName(name, "branch name with a control character")
	}
	return nil
}

func badName(name, why string) error {
	return tarnerr.New(tarnerr.Invalid, "reading name", why, "name", name).
		WithHint("Name a table as database.table, with letters, digits and underscores.")
}

// String is the form ParseIdentifier reads.
func (id Identifier) String() string {
	s := id.Database + "." + id.Table
	if id.Branch != "" {
		s += "$branch_" + id.Branch
	}
	if id.System != "" {
		s += "$" + id.System
	}
	return s
}
