package lookup

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
)

// Store keeps the local files of all tables of a process. What it holds in memory
// for speed it gives up whenever somebody else is short of memory. Safe for
// concurrent use; no lock is held across I/O.
type Store struct {
	temporary *spill.Store
	budget    *budget.Budget // nil = unlimited
	env       env.Env

	mu     sync.Mutex
	closed bool
	files  map[fileKey]*localFile
	// order are all of files, built the built ones, blocks all blocks in memory, each
	// with what was used last at the front.
	order, built, blocks list.List
	open                 int // local files
	tables               map[string]*usage
	use                  Use
}

// fileKey names a data file and what its rows are found as.
type fileKey struct{ path, layout string }

// usage is what one table has of a store.
type usage struct {
	disk, memory int64
	files        int
}

// Use is what a store holds and did.
type Use struct {
	Files        int   // local files
	Disk, Memory int64 // bytes
	Built        int   // local files made
	Failed       int   // and given up halfway
	BlocksRead   int64
	BytesRead    int64 // of blocks
}

// NewStore keeps files where temporary does, which must be closed after it.
func NewStore(temporary *spill.Store, b *budget.Budget, e env.Env) *Store {
	s := &Store{temporary: temporary, budget: b, env: e, files: map[fileKey]*localFile{}, tables: map[string]*usage{}}
	if b != nil {
		b.OnShortage(s.shed)
	}
	return s
}

// Use tells what the store holds and did.
func (s *Store) Use() Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.use
	u.Files = s.built.Len()
	for _, t := range s.tables {
		u.Disk, u.Memory = u.Disk+t.disk, u.Memory+t.memory
	}
	return u
}

// Files is a store as one table may use it.
type Files struct {
	store *Store
	table string
	opts  option.LookupFiles
	codec *spill.Codec
	warn  func(doing string, err error)
	// always: whatever it costs, a local file that is there is read.
	always bool
}

// Files gives a table, named by its directory, its part. warn is told what went
// wrong and stopped nothing; it may be nil.
func (s *Store) Files(table string, o option.LookupFiles, warn func(doing string, err error)) *Files {
	if warn == nil {
		warn = func(string, error) {}
	}
	return &Files{store: s, table: table, opts: o, codec: spill.NewCodec(o.Compression, o.ZstdLevel), warn: warn}
}

const (
	// maxKnown is about how many data files a store keeps accounts of.
	maxKnown = 4096
	// maxOpen is how many local files are open without being read.
	maxOpen = 128
)

// fileState is how far a local file has come.
type fileState uint8

const (
	unbuilt fileState = iota
	building
	built
	unfit // the data file cannot have one
)

// localFile is a data file a store knows of, and the file made for it.
type localFile struct {
	store *Store
	files *Files // who asked first, then who made it
	key   fileKey

	// Under the lock of the store.
	state   fileState
	owed    int64 // see price.go
	users   int
	dropped bool // the last user removes it
	used    time.Time
	at      *list.Element // of Store.order
	builtAt *list.Element // of Store.built
	blocks  map[int]*block
	head    *head // what is read of it first; nil: not in memory

	// Of built ones.
	fio  fileio.FileIO
	path string
	size int64
	tail tail
}

// forget undoes head and blocks: what frees is to be called without the lock.
func (l *localFile) forget(frees *[]func()) {
	for _, b := range l.blocks {
		l.store.dropBlock(b, frees)
	}
	l.close(frees)
}

// close takes the head out of memory.
func (l *localFile) close(frees *[]func()) {
	if l.head == nil {
		return
	}
	h := l.head
	l.head = nil
	l.store.open--
	l.store.table(l.files.table).memory -= h.bytes
	*frees = append(*frees, h.free)
}

// table is what a table uses.
func (s *Store) table(name string) *usage {
	u := s.tables[name]
	if u == nil {
		u = &usage{}
		s.tables[name] = u
	}
	return u
}

// remove takes a file out of the store. It goes at once or with its last user.
func (s *Store) remove(l *localFile, frees *[]func()) {
	if l.dropped {
		return
	}
	l.dropped = true
	delete(s.files, l.key)
	s.order.Remove(l.at)
	if l.users == 0 {
		s.discard(l, frees)
	}
}

// discard deletes a file that nobody uses.
func (s *Store) discard(l *localFile, frees *[]func()) {
	l.forget(frees)
	u := s.table(l.files.table)
	if l.state == built {
		s.built.Remove(l.builtAt)
		u.disk -= l.size
		fio, path := l.fio, l.path
		*frees = append(*frees, func() {
			if err := fio.Delete(context.Background(), path); err != nil { // it goes with the store
				l.files.warn("removing local file for look-ups", err)
			}
		})
	}
	if u.files--; u.files == 0 {
		delete(s.tables, l.files.table)
	}
}

func freeAll(frees []func()) {
	for _, f := range frees {
		f()
	}
}

// known is the account of a data file, made when it is asked for first.
func (s *Store) known(f *Files, key fileKey) *localFile {
	l := s.files[key]
	if l == nil {
		l = &localFile{store: s, files: f, key: key}
		l.at = s.order.PushFront(l)
		s.files[key] = l
		s.table(f.table).files++
	}
	return l
}

// want gives the local file of a data file to use; build: it is to be made first.
// Nil when there is none, for nobody waits while another one makes it.
func (f *Files) want(path, layout string, m *datafile.Meta) (l *localFile, build bool) {
	s := f.store
	now := s.env.Now()
	var frees []func()
	defer func() { freeAll(frees) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now, &frees)
	l = s.files[fileKey{path, layout}]
	switch {
	case l == nil || s.closed:
		return nil, false
	case l.state == built:
		s.built.MoveToFront(l.builtAt)
	case l.state == unbuilt && l.owed >= priceOf(m) && m.FileSize <= f.opts.MaxDisk:
		// Its maker's settings are the file's.
		l.state, l.files, build = building, f, true
	default:
		return nil, false
	}
	l.users++
	l.used = now
	s.order.MoveToFront(l.at)
	return l, build
}

// expire drops files that were not used for long, and accounts that are too many.
func (s *Store) expire(now time.Time, frees *[]func()) {
	for e := s.built.Back(); e != nil; {
		l := e.Value.(*localFile)
		e = e.Prev()
		if l.users == 0 && now.Sub(l.used) > l.files.opts.Retention {
			s.remove(l, frees)
		} else if l.users == 0 {
			break
		}
	}
	for e := s.order.Back(); e != nil && s.order.Len()-s.built.Len() > maxKnown; {
		l := e.Value.(*localFile)
		e = e.Prev()
		if l.state == unbuilt || l.state == unfit {
			s.remove(l, frees)
		}
	}
}

// spent notes that finding so many rows in a data file took so many bytes of it.
func (f *Files) spent(path, layout string, m *datafile.Meta, bytes int64, found int) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	l := s.known(f, fileKey{path, layout})
	s.order.MoveToFront(l.at)
	l.owed = max(0, l.owed+bytes-localCost(m, found))
}

// release ends the use of a file.
func (l *localFile) release() {
	s := l.store
	var frees []func()
	s.mu.Lock()
	if l.users--; l.users == 0 {
		switch {
		case l.dropped:
			s.discard(l, &frees)
		case s.closed:
			l.forget(&frees)
		}
	}
	s.mu.Unlock()
	freeAll(frees)
	s.relieve()
}

// relieve gives up all that nobody reads when somebody waits for memory: who waits has
// asked for it once, and may have come before it could be given.
func (s *Store) relieve() {
	if s.budget != nil && s.budget.Contended() {
		s.shed(s.budget.Limit())
	}
}

// fail gives up a local file that cannot be read.
func (l *localFile) fail(err error) {
	l.files.warn("reading local file for look-ups", err)
	s := l.store
	var frees []func()
	s.mu.Lock()
	s.remove(l, &frees)
	s.mu.Unlock()
	freeAll(frees)
	l.release()
}

// drop gives up the local files of data files.
func (s *Store) drop(paths map[string]bool) {
	var frees []func()
	s.mu.Lock()
	for key, l := range s.files {
		if paths[key.path] {
			s.remove(l, &frees)
		}
	}
	s.mu.Unlock()
	freeAll(frees)
}

// grow makes room for n bytes of a table on disk, at the cost of files that were not
// used for long.
func (f *Files) grow(n int64) error {
	s := f.store
	var frees []func()
	s.mu.Lock()
	u := s.table(f.table)
	for e := s.built.Back(); e != nil && u.disk+n > f.opts.MaxDisk; {
		l := e.Value.(*localFile)
		e = e.Prev()
		if l.users == 0 && l.files.table == f.table {
			s.remove(l, &frees)
		}
	}
	fits := u.disk+n <= f.opts.MaxDisk
	if fits {
		u.disk += n
	}
	s.mu.Unlock()
	freeAll(frees)
	if !fits {
		return tarnerr.New(tarnerr.Unavailable, "making room for local file", "no room within the limit", "lookup.cache-max-disk-size", f.opts.MaxDisk)
	}
	return nil
}

// shed gives up about n bytes of memory: blocks, then what was read first of files
// that nobody reads.
func (s *Store) shed(n int64) bool {
	var frees []func()
	s.mu.Lock()
	var freed int64
	for e := s.blocks.Back(); e != nil && freed < n; e = s.blocks.Back() {
		b := e.Value.(*block)
		freed += b.bytes
		s.dropBlock(b, &frees)
	}
	for e := s.built.Back(); e != nil && freed < n; e = e.Prev() {
		if l := e.Value.(*localFile); l.users == 0 && l.head != nil {
			freed += l.head.bytes
			l.close(&frees)
		}
	}
	s.mu.Unlock()
	freeAll(frees)
	return freed > 0
}

// Close frees all memory. The files go with the temporary store. Nothing may be
// looked up any more.
func (s *Store) Close() {
	var frees []func()
	s.mu.Lock()
	s.closed = true
	for _, l := range s.files {
		if l.users == 0 {
			l.forget(&frees)
		}
	}
	s.mu.Unlock()
	freeAll(frees)
}
