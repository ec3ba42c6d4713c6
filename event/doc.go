// Package event is how Tarn tells what it does: a Listener gets typed infos of
// commits, flushes, scans and storage calls. Logging and metrics are listeners,
// not calls scattered over stages.
//
// Floor F0.
package event
