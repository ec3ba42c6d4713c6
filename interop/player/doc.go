// Package player carries scenarios out with Tarn alone, through the public
// packages catalog and table, so that other implementations can read the result
// as their own. An operation, or a part of one, that Tarn does not have yet is
// refused by name with the kind Unsupported.
//
// Floor: tests. interop/replay is its command line.
package player
