// Package fileio is the one way Tarn touches storage: a small interface fit
// for object stores, with directories and rename only as capabilities.
//
// Floor F1. Backends live in local, mem and (registered by import) others;
// layer wraps any of them with counting; faultio and fileiotest are for tests.
//
// Every failure is classified where it happens: [tarnerr.Unavailable] or
// another kind means "before any effect", [tarnerr.Ambiguous] means the effect
// may have happened. Nothing above guesses from an error's text.
package fileio
