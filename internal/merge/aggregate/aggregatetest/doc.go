// Package aggregatetest folds values written as JSON, so that cases in text, a model
// and Java's own functions can be held against the functions of package aggregate.
//
// Floor T.
package aggregatetest
