// Package spill keeps batches in temporary files of this machine: what a write
// buffer or a merge holds beyond its memory. Files are Arrow IPC, compressed block
// by block, so that any block can be read alone.
//
// The files of a process lie in a directory of its own, which is locked as long as
// the process lives. Who starts later removes the directories whose lock is free.
//
// Floor F2. Below the stages that spill.
package spill
