package types

// Go forms of nested values, which keys and statistics never hold but files,
// rows and tests do:
//
//	ARRAY, VECTOR, ROW []Value
//	MAP, MULTISET      []Entry (a MULTISET's values are int64 counts)
//	VARIANT            VariantValue

// Entry is one pair of a MAP, or an element and its count in a MULTISET.
type Entry struct{ Key, Value Value }

// VariantValue is a VARIANT in Paimon's (Spark's) binary encoding.
type VariantValue struct{ Value, Metadata []byte }
