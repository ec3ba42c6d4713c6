package golden

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// raw is one table as archived: its files by path below the table's folder.
type raw struct {
	warehouse map[string][]byte
	expected  map[string][]byte
	scenario  []byte
}

// archive is decoded once per test binary and never changed afterwards.
var archive = sync.OnceValues(func() (map[string]*raw, error) {
	f, err := os.Open(archivePath())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decode(f)
})

// archivePath is found from this source file, so that any package's test may ask.
func archivePath() string {
	_, self, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(self), "..", "..", "testdata", "golden.tar.zst")
}

func decode(r io.Reader) (map[string]*raw, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	tables := map[string]*raw{}
	tr := tar.NewReader(z)
	for {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return tables, nil
		}
		if err != nil {
			return nil, err
		}
		name, rest, _ := strings.Cut(head.Name, "/")
		data := make([]byte, head.Size)
		if _, err := io.ReadFull(tr, data); err != nil {
			return nil, fmt.Errorf("%s: %w", head.Name, err)
		}
		t := tables[name]
		if t == nil {
			t = &raw{warehouse: map[string][]byte{}, expected: map[string][]byte{}}
			tables[name] = t
		}
		switch {
		case rest == "scenario.json":
			t.scenario = data
		case strings.HasPrefix(rest, "warehouse/"):
			t.warehouse[strings.TrimPrefix(rest, "warehouse/")] = data
		case strings.HasPrefix(rest, "expected"):
			t.expected[rest] = data
		default:
			return nil, fmt.Errorf("%s is neither a scenario, an expectation nor part of a warehouse", head.Name)
		}
	}
}

// lines splits a file of canonical lines.
func lines(data []byte) []string {
	data = bytes.TrimSuffix(data, []byte("\n"))
	if len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\n")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
