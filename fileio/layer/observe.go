package layer

import (
	"io"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
)

// Observe tells l about every call of fio. It returns fio itself when l does
// not listen to storage calls.
func Observe(fio fileio.FileIO, l *event.Listener, e env.Env) fileio.FileIO {
	if l == nil || l.StorageCall == nil {
		return fio
	}
	return &tap{fio, &observer{l, e}}
}

type observer struct {
	listener *event.Listener
	env      env.Env
}

func (o *observer) begin() time.Time { return o.env.Now() }

func (o *observer) end(m Method, path string, n int64, start time.Time, err error) {
	if err == io.EOF {
		err = nil
	}
	o.listener.StorageCall(event.StorageCall{
		Method: m.String(), Path: path, Bytes: n, Elapsed: o.env.Now().Sub(start), Err: err,
	})
}
