// Package changelog says what the change of a row is: from what it was before
// and what it is afterwards to the kinds of the rows that tell of it. It is
// pure: compactions gather the rows it names.
//
// Floor F3. Used by compactions that produce a changelog and by reads that
// compare two states.
package changelog
