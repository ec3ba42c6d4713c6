// Package local is the storage backend for directories of this machine and
// mounted network file systems.
//
// Floor F1. A file is created under its own name; what must appear in one step
// (snapshots, schemas) is written as ".<name>.<uuid>.tmp" beside it, as Java
// does, and moved without replacing anything. With [fileio.Fsync] a nil return
// means that the data and its directory entry are on the disk.
package local
