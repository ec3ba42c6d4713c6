package fileio

import (
	"bytes"
	"context"

	"github.com/tarnlake/tarn/tarnerr"
)

// ProbeCreateIfAbsent tries out whether a storage keeps what CreateIfAbsent
// promises: that a file which is there is not written again. It makes a file at
// path, which nobody else may use, tries to make it once more, looks at it and
// removes it. Unsupported when the second one was let through; any other error means
// that nothing was found out, and changed nothing that counts.
func ProbeCreateIfAbsent(ctx context.Context, fio FileIO, path string) error {
	const op = "probing conditional create"
	first, second := []byte("first"), []byte("second")
	if err := fio.CreateIfAbsent(ctx, path, first); err != nil {
		return unsure(op, err, path)
	}
	defer fio.Delete(context.WithoutCancel(ctx), path) // what stays is an empty word
	err := fio.CreateIfAbsent(ctx, path, second)
	refused := tarnerr.KindOf(err) == tarnerr.AlreadyExists
	if err != nil && !refused {
		return unsure(op, err, path)
	}
	there, readErr := ReadFile(ctx, fio, path)
	if readErr != nil {
		return unsure(op, readErr, path)
	}
	if refused && bytes.Equal(there, first) {
		return nil
	}
	return tarnerr.New(tarnerr.Unsupported, op, "the storage takes conditional writes but does not keep the condition, so two writers could overwrite each other's snapshot", "path", path).
		WithHint("Use a server that honours If-None-Match, give the engine a lock that all writers take, or use a catalog that commits.")
}

// unsure is an error of the probe itself: nothing depends on its file.
func unsure(op string, err error, path string) error {
	switch tarnerr.KindOf(err) {
	case tarnerr.Ambiguous, tarnerr.AlreadyExists, tarnerr.NotFound, tarnerr.Internal:
		return tarnerr.Wrap(tarnerr.Unavailable, op, err, "path", path)
	}
	return tarnerr.Trace(op, err, "path", path)
}
