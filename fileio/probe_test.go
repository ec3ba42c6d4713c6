package fileio_test

import (
	"context"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/tarnerr"
)

// careless is a server that overlooks the condition; with lying it says
// AlreadyExists and writes all the same.
type careless struct {
	fileio.FileIO
	lying bool
}

func (c careless) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	there, err := fileio.Exists(ctx, c.FileIO, path)
	if err == nil {
		err = c.Replace(ctx, path, data)
	}
	if err == nil && there && c.lying {
		return tarnerr.New(tarnerr.AlreadyExists, "creating", "precondition failed")
	}
	return err
}

func TestProbe(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name string
		fio  fileio.FileIO
		path string
		want tarnerr.Kind // 0 = it is fine
	}{
		{"object store", mem.New(mem.ObjectStore), "/w/p", 0},
		{"posix", mem.New(mem.Posix), "/w/p", 0},
		{"local", local.New(local.Options{Durability: fileio.OS}), t.TempDir() + "/p", 0},
		{"none", mem.New(mem.NoConditional), "/w/p", tarnerr.Unsupported},
		{"careless", careless{FileIO: mem.New(mem.ObjectStore)}, "/w/p", tarnerr.Unsupported},
		{"lying", careless{mem.New(mem.ObjectStore), true}, "/w/p", tarnerr.Unsupported},
		{"down", faultio.New(mem.New(mem.ObjectStore), faultio.FailCall(1, faultio.Before, 0)), "/w/p", tarnerr.Unavailable},
		{"no answer", faultio.New(mem.New(mem.ObjectStore), faultio.FailCall(2, faultio.Before, tarnerr.Ambiguous)), "/w/p", tarnerr.Unavailable},
	} {
		err := fileio.ProbeCreateIfAbsent(ctx, c.fio, c.path)
		if c.want == 0 && err != nil || c.want != 0 && (err == nil || tarnerr.KindOf(err) != c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if there, err := fileio.Exists(ctx, c.fio, c.path); there || err != nil {
			t.Errorf("%s: the probe is left behind: %v", c.name, err)
		}
	}
}
