// Package advice judges the figures of a table: which of them are beyond a limit,
// why that is felt, and what to do about it. It is pure: figures in, advice out.
//
// Floor F3. Package table/paimon gathers the figures, from metadata alone; the
// limits are the table's own options, Paimon's recommendations, or constants that
// docs/upkeep.md lists.
package advice
