package local

import (
	"context"

	"github.com/tarnlake/tarn/fileio"
)

func init() {
	fileio.Register("file", func(_ context.Context, uri string, s fileio.Settings) (fileio.FileIO, string, error) {
		p, err := fileio.LocalPath(uri)
		if err != nil {
			return nil, "", err
		}
		return New(Options{Durability: s.Durability, Env: s.Env}), p, nil
	})
}
