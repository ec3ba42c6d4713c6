// Package aggregate holds the aggregate functions of the merge engine aggregation
// and of sequence groups: what becomes of the values that one column has in the
// rows of one key.
//
// A function works on one column of many keys at once; numeric ones run over the
// arrays' own memory. Rules of types, nulls, overflow and retraction are those of
// Paimon 1.4.2 (FieldAggregator and its factories).
//
// Floor F3. Package merge finds the groups and calls it.
package aggregate
