package schema

import "github.com/tarnlake/tarn/types"

// Change is one change of ALTER TABLE. A column is a path: one name at the top,
// more inside rows ("element", "key", "value" inside arrays and maps).
type Change interface{ isChange() }

// Where places a column: exactly one of First, Last, After, Before, or none (at the end).
type Where struct {
	First, Last   bool
	After, Before string
}

type (
	// SetOption sets a table option.
	SetOption struct{ Key, Value string }
	// RemoveOption removes a table option.
	RemoveOption struct{ Key string }
	// SetComment sets or, with nil, removes the table's comment.
	SetComment struct{ Comment *string }
	// AddColumn adds a nullable column.
	AddColumn struct {
		Path    []string
		Type    types.Type
		Comment *string
		Where   Where
	}
	// RenameColumn gives the last name of Path a new one.
	RenameColumn struct {
		Path []string
		To   string
	}
	// DropColumn removes a column.
	DropColumn struct{ Path []string }
	// UpdateType changes a column's type; KeepNullable keeps its nullability.
	UpdateType struct {
		Path         []string
		Type         types.Type
		KeepNullable bool
	}
	// UpdateNullable changes a column's nullability.
	UpdateNullable struct {
		Path     []string
		Nullable bool
	}
	// UpdateColumnComment sets or, with nil, removes a column's comment.
	UpdateColumnComment struct {
		Path    []string
		Comment *string
	}
	// UpdateDefault sets or, with nil, removes a column's default value.
	UpdateDefault struct {
		Path    []string
		Default *string
	}
	// MoveColumn moves a top-level column.
	MoveColumn struct {
		Column string
		Where  Where
	}
)

func (SetOption) isChange()           {}
func (RemoveOption) isChange()        {}
func (SetComment) isChange()          {}
func (AddColumn) isChange()           {}
func (RenameColumn) isChange()        {}
func (DropColumn) isChange()          {}
func (UpdateType) isChange()          {}
func (UpdateNullable) isChange()      {}
func (UpdateColumnComment) isChange() {}
func (UpdateDefault) isChange()       {}
func (MoveColumn) isChange()          {}
