package fileiotest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func createIfAbsent(t *testing.T, f *fixture) {
	if !f.fio.Capabilities().ConditionalCreate {
		f.wantKind(f.fio.CreateIfAbsent(f.ctx, f.path("s/1"), []byte("x")), tarnerr.Unsupported)
		f.wantFiles()
		return
	}
	data := []byte("first")
	if err := f.fio.CreateIfAbsent(f.ctx, f.path("s/1"), data); err != nil {
		t.Fatal(err)
	}
	copy(data, "zzzzz")
	f.want("s/1", "first")
	f.wantKind(f.fio.CreateIfAbsent(f.ctx, f.path("s/1"), []byte("second")), tarnerr.AlreadyExists)
	f.want("s/1", "first")
	f.put("plain", "by Create")
	f.wantKind(f.fio.CreateIfAbsent(f.ctx, f.path("plain"), []byte("second")), tarnerr.AlreadyExists)
	f.wantFiles("plain", "s/1") // no temporary file is left
}

// oneWinner races writers for the same ids, as commits do, while a reader looks.
func oneWinner(t *testing.T, f *fixture) {
	if !f.fio.Capabilities().ConditionalCreate {
		t.Skip("no conditional create")
	}
	const writers, ids = 8, 25
	body := func(w int) string { return strings.Repeat(fmt.Sprint(w), 5000) }
	var winner [ids]atomic.Int64
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for id := range ids {
				got, err := fileio.ReadFile(f.ctx, f.fio, f.path(fmt.Sprintf("snapshot/snapshot-%d", id)))
				if err != nil {
					if tarnerr.KindOf(err) != tarnerr.NotFound {
						t.Error(err)
					}
					break
				}
				if len(got) != 5000 || strings.Trim(string(got), string(got[:1])) != "" {
					t.Errorf("id %d: a reader saw a part of a file: %d bytes", id, len(got))
				}
			}
		}
	})
	each(writers, func(w int) {
		for id := range ids {
			err := f.fio.CreateIfAbsent(f.ctx, f.path(fmt.Sprintf("snapshot/snapshot-%d", id)), []byte(body(w)))
			switch {
			case err == nil:
				if old := winner[id].Swap(int64(w) + 1); old != 0 {
					t.Errorf("id %d: writers %d and %d both won", id, old-1, w)
				}
			case tarnerr.KindOf(err) != tarnerr.AlreadyExists:
				t.Errorf("losing a race gave %v: %v", tarnerr.KindOf(err), err)
			}
		}
	})
	close(stop)
	reader.Wait()
	for id := range ids {
		w := winner[id].Load()
		if w == 0 {
			t.Fatalf("id %d: nobody won", id)
		}
		f.want(fmt.Sprintf("snapshot/snapshot-%d", id), body(int(w)-1))
	}
	if n := len(f.files(f.root, fileio.ListOptions{})); n != ids {
		t.Errorf("%d files after the race, want %d: losers left something", n, ids)
	}
}

func replaceIsAtomic(t *testing.T, f *fixture) {
	bodies := []string{strings.Repeat("a", 3000), strings.Repeat("b", 7000)}
	if err := f.fio.Replace(f.ctx, f.path("hint"), []byte(bodies[0])); err != nil {
		t.Fatal(err)
	}
	each(4, func(i int) {
		for n := range 50 {
			if i%2 == 0 {
				if err := f.fio.Replace(f.ctx, f.path("hint"), []byte(bodies[n%2])); err != nil {
					t.Error(err)
				}
				continue
			}
			got, err := fileio.ReadFile(f.ctx, f.fio, f.path("hint"))
			if err != nil || string(got) != bodies[0] && string(got) != bodies[1] {
				t.Errorf("a reader saw %d bytes, %v", len(got), err)
			}
		}
	})
	f.wantFiles("hint")
}
