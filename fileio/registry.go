package fileio

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// Settings are what a backend needs beyond its URI. The zero value is ready to use.
type Settings struct {
	Durability Durability
	Env        env.Env // env.Real when nil
}

// Opener opens the backend a URI names and returns the path inside it.
type Opener func(ctx context.Context, uri string, s Settings) (FileIO, string, error)

// The registry is filled by imports (init functions) as database/sql's is, and
// is only read afterwards.
var registry = struct {
	sync.RWMutex
	openers map[string]Opener
}{openers: map[string]Opener{}}

// Register makes a scheme known to OpenURI. Backends call it when they are
// imported; a second registration of a scheme replaces the first.
func Register(scheme string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	registry.openers[scheme] = open
}

// Schemes returns the registered schemes, sorted.
func Schemes() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.openers))
}

// OpenURI opens the backend of uri, a bare path of this machine or a URI with a
// registered scheme, and returns it with the path that uri names.
func OpenURI(ctx context.Context, uri string, s Settings) (FileIO, string, error) {
	scheme := Scheme(uri)
	registry.RLock()
	open := registry.openers[scheme]
	registry.RUnlock()
	if open == nil {
		return nil, "", tarnerr.New(tarnerr.Unsupported, "opening storage", "no backend for scheme "+scheme, "uri", uri).
			WithHint("Give a path or a URI of one of these schemes: %s. Others come with an import of their fileio package.", strings.Join(Schemes(), ", "))
	}
	return open(ctx, uri, s)
}

// Scheme is the scheme of uri in lower case, "file" for a bare path. A Windows
// drive letter is no scheme.
func Scheme(uri string) string {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\`) {
		return "file"
	}
	return strings.ToLower(scheme)
}

// LocalPath turns a bare path, relative to the working directory or absolute, or
// a URI file:/x, file:///x, file://localhost/x into a path of the local backend.
// Nothing is percent-decoded, as in Java.
func LocalPath(uri string) (string, error) {
	const op = "reading path"
	p := uri
	if scheme, rest, ok := strings.Cut(uri, ":"); ok && strings.EqualFold(scheme, "file") {
		p = rest
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			host, below, _ := strings.Cut(after, "/")
			if host != "" && host != "localhost" {
				return "", tarnerr.New(tarnerr.Invalid, op, "file URI with a host", "uri", uri).
					WithHint("Write file:///path with three slashes.")
			}
			p = "/" + below
		}
		if !strings.HasPrefix(p, "/") {
			return "", tarnerr.New(tarnerr.Invalid, op, "file URI without an absolute path", "uri", uri).
				WithHint("Write file:///path, or give the path without a scheme.")
		}
	}
	if strings.TrimSpace(p) == "" {
		return "", tarnerr.New(tarnerr.Invalid, op, "empty path", "uri", uri)
	}
	if !strings.HasPrefix(p, "/") {
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", tarnerr.Wrap(tarnerr.Unavailable, op, err, "uri", uri)
		}
		p = filepath.ToSlash(abs)
		if !strings.HasPrefix(p, "/") {
			p = "/" + p // a Windows drive: /C:/w
		}
	}
	p = path.Clean(p)
	return p, CheckPath(op, p)
}
