package expr

import "github.com/tarnlake/tarn/types"

// Expr is a predicate. Build it from the types below; columns are named as in
// the schema, literals are [types.Value] or plain Go values that Bind converts
// to the column's type (int, string "2024-01-02" for a DATE, "1.50" for a DECIMAL …).
type Expr interface{ isExpr() }

// Op is a comparison.
type Op uint8

const (
	Eq Op = iota
	Ne
	Lt
	Le
	Gt
	Ge
)

var opText = [...]string{"=", "!=", "<", "<=", ">", ">="}

// String is the operator as SQL writes it.
func (o Op) String() string { return opText[o] }

type (
	// Compare is column op literal.
	Compare struct {
		Column string
		Op     Op
		Value  types.Value
	}
	// In is column IN (values); NOT IN is Not{In}.
	In struct {
		Column string
		Values []types.Value
	}
	// IsNull is column IS NULL; IS NOT NULL is Not{IsNull}.
	IsNull struct{ Column string }
	// Prefix is column LIKE 'prefix%' for strings.
	Prefix struct{ Column, Prefix string }
	// And is true when all are; empty is true.
	And []Expr
	// Or is true when one is; empty is false.
	Or []Expr
	// Not is true when Child is false, null when Child is null.
	Not struct{ Child Expr }
)

func (Compare) isExpr() {}
func (In) isExpr()      {}
func (IsNull) isExpr()  {}
func (Prefix) isExpr()  {}
func (And) isExpr()     {}
func (Or) isExpr()      {}
func (Not) isExpr()     {}
