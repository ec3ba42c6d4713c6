// Command streamwrite copies a numbered stream of events into a table, one
// commit for each few events, and dies in the middle. Started again, it asks
// the table how far it got and goes on from there: no event is lost, none is
// there twice.
//
//	go run ./examples/streamwrite [DIRECTORY]
package main
