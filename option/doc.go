// Package option types Paimon's table options once: key, default, parser, and
// the state each key has in this version (honoured, harmless, refuses writes,
// refuses reads). Unknown keys are kept and carried.
//
// Floor F0.
package option
