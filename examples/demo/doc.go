// Command demo is the guided tour behind "make demo": what a primary-key table
// does with late rows, and a month of real flights as a stream of updates. It
// needs a local directory and no server.
package main
