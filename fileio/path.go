package fileio

import (
	"context"
	"path"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// CheckPath refuses what is no path of a backend: relative paths, paths with a
// scheme, empty, "." or ".." elements, a slash at the end, or a NUL byte. "/" is allowed.
func CheckPath(op, p string) error {
	switch {
	case p == "/":
		return nil
	case !strings.HasPrefix(p, "/"):
		return tarnerr.New(tarnerr.Invalid, op, "path is not absolute", "path", p).
			WithHint("Give a path from the root of the storage, without a scheme.")
	case path.Clean(p) != p:
		return tarnerr.New(tarnerr.Invalid, op, "path is not clean", "path", p).
			WithHint("Leave out empty, . and .. elements and the slash at the end.")
	case strings.IndexByte(p, 0) >= 0:
		return tarnerr.New(tarnerr.Invalid, op, "path with a NUL byte", "path", p)
	}
	return nil
}

// CheckCall is what a backend does before anything else: it refuses a bad path
// and a context that has ended. Both are failures before any effect.
func CheckCall(ctx context.Context, op, p string) error {
	if err := ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err, "path", p)
	}
	return CheckPath(op, p)
}
