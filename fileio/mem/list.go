package mem

import (
	"context"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
)

// pageSize is small so that tests meet more than one page.
const pageSize = 1000

// List implements fileio.FileIO. The token of a page is its last path.
func (fs *FS) List(ctx context.Context, dir string, opts fileio.ListOptions) (fileio.Page, error) {
	if err := fileio.CheckCall(ctx, "listing directory", dir); err != nil {
		return fileio.Page{}, err
	}
	limit := opts.Limit
	if limit <= 0 || limit > pageSize {
		limit = pageSize
	}
	entries := fs.below(strings.TrimSuffix(dir, "/")+"/", opts.Dirs, opts.Token)
	page := fileio.Page{Entries: entries}
	if len(entries) > limit {
		page.Entries = slices.Clone(entries[:limit])
		page.Next = entries[limit-1].Path
	}
	return page, nil
}

// below returns what lies under prefix and sorts after token.
func (fs *FS) below(prefix string, dirs bool, token string) []fileio.Info {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	var out []fileio.Info
	children := map[string]bool{}
	child := func(p string) {
		name, _, _ := strings.Cut(p[len(prefix):], "/")
		children[prefix+name] = true
	}
	for p, o := range fs.files {
		switch {
		case !strings.HasPrefix(p, prefix):
		case dirs && strings.Contains(p[len(prefix):], "/"):
			child(p)
		case p > token:
			out = append(out, fileio.Info{Path: p, Size: int64(len(o.data)), ModMilli: o.mod})
		}
	}
	if dirs {
		for p := range fs.dirs {
			if strings.HasPrefix(p, prefix) {
				child(p)
			}
		}
		for p := range children {
			if p > token {
				out = append(out, fileio.Info{Path: p, IsDir: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b fileio.Info) int { return strings.Compare(a.Path, b.Path) })
	return out
}
