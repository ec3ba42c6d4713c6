// Package fileformat is what stages know of data file formats: open a file and
// read columns as Arrow, write Arrow and get a summary back. Formats live below it.
//
// Floor F1.
package fileformat
