// Package tarn is the front door of a streaming lakehouse engine: it opens
// catalogs of Apache Paimon tables, reads and writes them natively, and shares
// one memory budget among all that a process has open.
//
// # The walk
//
// A row goes down one walk, and each stage is one package, entered by one
// function and left with one value:
//
//	write    internal/write    batch → rows routed by (partition, bucket) into a columnar buffer
//	flush    internal/write    buffer, sorted and merged → data files (datafile.Meta)
//	prepare  internal/write    → commitmsg.Message, which can be stored and shipped
//	commit   internal/commit   messages → a snapshot, or an error that says what is known
//	plan     internal/plan     snapshot and predicate → split.Split
//	read     internal/read     split → batches
//
// Stages exchange Arrow record batches and the metadata nouns (internal/datafile,
// commitmsg, snapshot, split) and do not import each other. Storage is reached
// through fileio alone, time and chance through internal/env.
//
// # Using it
//
// [Open] opens a warehouse with a small runtime of its own; a program with
// several catalogs makes one [Runtime]. The catalog creates and loads tables
// (package table); a table is scanned, and written in one commit
// (NewBatchWrite) or in many (NewStreamWrite). A write call returns when its
// rows are visible and durable, or with the error; package tarnerr has the
// kinds of errors that callers tell apart.
//
// Other storage than local directories comes with an import of its package
// below fileio.
//
// Floor F7.
package tarn
