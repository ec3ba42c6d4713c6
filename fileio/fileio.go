package fileio

import (
	"context"
	"io"
)

// FileIO is a storage backend. Paths are absolute within the backend, use
// slashes, and name no scheme ("/w/db.db/t/snapshot/snapshot-1"); [FileIO.URI]
// gives the form shown to people and stored as an external path.
//
// Implementations are safe for concurrent use.
type FileIO interface {
	// Capabilities says what this backend can do beyond the methods every backend has.
	Capabilities() Capabilities

	// URI returns path with its scheme, as Java prints it ("file:/w/db.db/t").
	URI(path string) string

	// Open opens a file for ranged reads. NotFound when there is none.
	Open(ctx context.Context, path string) (File, error)

	// Create starts writing a new file whose name nobody else uses (data files,
	// manifests). Nothing is promised to be visible or durable before Writer.Close
	// returns nil. Parent directories are made as needed.
	Create(ctx context.Context, path string) (Writer, error)

	// CreateIfAbsent writes data as path in one atomic step: readers see all of
	// it or no file, and of several callers exactly one succeeds. AlreadyExists
	// when the path is taken; Ambiguous when the effect is not known;
	// Unsupported when Capabilities.ConditionalCreate is false.
	CreateIfAbsent(ctx context.Context, path string, data []byte) error

	// Replace writes data as path, whatever was there (hint files). Readers see
	// the old or the new content.
	Replace(ctx context.Context, path string, data []byte) error

	// Delete removes files. A path that does not exist is no error.
	Delete(ctx context.Context, paths ...string) error

	// List returns one page of the files below the directory dir, sorted by path,
	// with the token of the next page ("" when it was the last). A directory that
	// does not exist has no files.
	List(ctx context.Context, dir string, opts ListOptions) (Page, error)

	// Stat describes a file. NotFound when there is none (directories are none).
	Stat(ctx context.Context, path string) (Info, error)

	// Rename moves a file or a directory with all below it. AlreadyExists when
	// dst is taken. Unsupported unless Capabilities.Rename.
	Rename(ctx context.Context, src, dst string) error

	// DeleteAll removes dir and all files below it. Not atomic.
	DeleteAll(ctx context.Context, dir string) error

	// MakeDir makes a directory and its parents visible to List with Dirs; a
	// backend without directories keeps a marker that List never shows as a file.
	MakeDir(ctx context.Context, dir string) error
}

// Capabilities tells what a backend can do.
type Capabilities struct {
	// ConditionalCreate: CreateIfAbsent is atomic. Without it no snapshot can be
	// published by the file system alone.
	ConditionalCreate bool
	// Unproven: ConditionalCreate is what the protocol promises, and whether this
	// server keeps it shows only when it is tried (ProbeCreateIfAbsent). Set by
	// backends that speak to servers of many makes.
	Unproven bool
	// Rename is atomic for a file or a directory.
	Rename bool
	// Durable: a nil return means the data survives a power cut.
	Durable bool
}

// File is an open file. Its methods are safe for concurrent use.
type File interface {
	// ReadAt reads like io.ReaderAt. A short read before the end is an error.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	// Size is the file's length in bytes when it was opened.
	Size() int64
	Close() error
}

// Writer writes one new file from front to end. Not safe for concurrent use.
type Writer interface {
	io.Writer
	// Close finishes the file. Until it returns nil the file must be taken as
	// missing; after an Ambiguous error it may exist.
	Close() error
	// Abort gives the file up and removes what was written. After Close it does nothing.
	Abort() error
}

// Info describes a file or, in listings with Dirs, a directory.
type Info struct {
	Path     string
	Size     int64
	ModMilli int64 // last change, milliseconds since 1970 UTC
	IsDir    bool
}

// ListOptions narrows a listing.
type ListOptions struct {
	// Dirs lists only the direct children of dir, directories included, instead
	// of all files below.
	Dirs bool
	// Limit caps the page; 0 means the backend's page size.
	Limit int
	// Token continues a listing where the page that returned it ended.
	Token string
}

// Page is part of a listing.
type Page struct {
	Entries []Info
	Next    string // token of the next page, "" at the end
}
