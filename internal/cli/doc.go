// Package cli is the tarn command: noun, then verb. One file per group of
// verbs; each turns flags into a call of the public API and prints the result.
//
// Floor F7.
package cli
