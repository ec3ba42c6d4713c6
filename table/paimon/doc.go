// Package paimon is the Paimon table: it joins the stages write, commit, plan
// and read to what table.Table promises, and adds no behaviour of its own.
//
// Floor F5.
package paimon
