package local

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// pageSize bounds what one page of a listing holds in memory.
const pageSize = 10_000

// List implements fileio.FileIO. The token of a page is its last path. Links to
// files are listed as files; links to directories are not followed.
func (fs *FS) List(ctx context.Context, dir string, opts fileio.ListOptions) (fileio.Page, error) {
	const op = "listing directory"
	if err := fileio.CheckCall(ctx, op, dir); err != nil {
		return fileio.Page{}, err
	}
	limit := opts.Limit
	if limit <= 0 || limit > pageSize {
		limit = pageSize
	}
	l := lister{ctx: ctx, dirs: opts.Dirs, after: opts.Token, limit: limit}
	if err := l.walk(strings.TrimSuffix(dir, "/")); err != nil && err != errPageFull {
		return fileio.Page{}, classify(op, err, dir)
	}
	page := fileio.Page{Entries: l.out}
	if len(l.out) > limit {
		page.Entries = l.out[:limit]
		page.Next = l.out[limit-1].Path
	}
	return page, nil
}

var errPageFull = errors.New("page full")

type lister struct {
	ctx   context.Context
	dirs  bool
	after string
	limit int
	out   []fileio.Info // up to limit+1: the extra one tells that there is a next page
}

// walk appends the entries below dir ("" = root) in the byte order of their paths.
func (l *lister) walk(dir string) error {
	if err := l.ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, "listing directory", err, "path", dir)
	}
	root := dir
	if root == "" {
		root = "/"
	}
	entries, err := os.ReadDir(native(root))
	if err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	if !l.dirs {
		// A directory's files sort by the path they have, "a/x", after "a.txt".
		slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	}
	for _, e := range entries {
		p := dir + "/" + e.Name()
		if e.IsDir() && !l.dirs {
			below := p + "/"
			if below < l.after && !strings.HasPrefix(l.after, below) {
				continue
			}
			if err := l.walk(p); err != nil {
				return err
			}
			continue
		}
		if p <= l.after {
			continue
		}
		st, err := os.Stat(native(p))
		if err != nil {
			if gone(err) {
				continue // deleted since, or a dangling link
			}
			return err
		}
		if st.IsDir() && !l.dirs {
			continue
		}
		l.out = append(l.out, info(p, st))
		if len(l.out) > l.limit {
			return errPageFull
		}
	}
	return nil
}

func gone(err error) bool {
	return errors.Is(err, iofs.ErrNotExist) || errors.Is(err, errNotDir)
}

func sortName(e os.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
