// Package lookup finds the rows that keys have in data files: what a compaction
// must know to tell what it changes, and what a join against a table asks for.
//
// Keys come many at a time, in their order, and a data file is read where they
// lie. Few keys all over a large file, again and again, are dearer that way than
// a file made for them: such a data file gets a local one, small sorted blocks with
// a sparse index and a Bloom filter, as soon as reading it directly has cost as
// much as making it. Local files are temporary, belong to the process, and are kept
// within bytes of disk and memory that all buckets share.
//
// bucket.go is the way in, direct.go reads data files, local.go local ones; store.go
// keeps these and price.go decides what is worth one. build.go, block.go, index.go
// and filter.go are what a local file is made of.
//
// Floor F3. Between runs, whose files it reads, and the stages that ask.
package lookup
