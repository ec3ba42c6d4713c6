package layer

import (
	"container/list"
	"sync"
)

// Store is the memory of caches: so many bytes in all, the least recently used
// file going first. Several caches may share one. Safe for concurrent use.
type Store struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	files map[key]*list.Element
	order list.List // of *entry, the most recently used in front
}

// NewStore returns a store of so many bytes.
func NewStore(limit int64) *Store {
	return &Store{limit: limit, files: map[key]*list.Element{}}
}

// Bytes is what the store holds now.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

type key struct {
	owner *cache
	path  string
}

type entry struct {
	key
	data []byte
}

// overhead is what an entry costs beside its path and data.
const overhead = 256

func (e *entry) size() int64 { return int64(len(e.path)+len(e.data)) + overhead }

func (s *Store) largest() int64 { return s.limit / 8 }

func (s *Store) get(k key) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.files[k]
	if !ok {
		return nil, false
	}
	s.order.MoveToFront(el)
	return el.Value.(*entry).data, true
}

// put takes data over.
func (s *Store) put(k key, data []byte) {
	e := &entry{k, data}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.files[k]; ok {
		s.remove(old)
	}
	s.files[k] = s.order.PushFront(e)
	s.bytes += e.size()
	for s.bytes > s.limit {
		s.remove(s.order.Back())
	}
}

func (s *Store) drop(match func(key) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, el := range s.files {
		if match(k) {
			s.remove(el)
		}
	}
}

func (s *Store) remove(el *list.Element) {
	e := s.order.Remove(el).(*entry)
	delete(s.files, e.key)
	s.bytes -= e.size()
}
