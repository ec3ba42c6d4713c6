// Package write takes batches into a table: it checks them, routes their rows
// to partitions and buckets, buffers them as columns under the memory budget,
// flushes them to data files and hands over what the files are as messages.
// Nothing it writes is visible before a commit.
//
// A batch goes sound.go (arrays), conform.go (columns by name, types, defaults),
// check.go (values), kind.go (row kinds), route.go (partition and bucket), buffer.go;
// a flush goes restore.go (sequence numbers, files), order.go (sort and merge),
// flush.go (files).
// When memory is short, pool.go chooses whose buffer gives way, spill.go takes it to
// disk and unspill.go merges it from there. tree.go compacts beside the writing.
//
// Floor F4. The first stage of the walk: write, flush, prepare.
package write
