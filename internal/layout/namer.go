package layout

import (
	"strconv"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/env"
)

// Namer gives new files names nobody else uses: <prefix><uuid>-<n>, with one
// UUID per Namer and a counter per kind. Safe for concurrent use.
type Namer struct {
	uuid                                               string
	manifest, manifestList, indexManifest, index, stat atomic.Int64
	data                                               atomic.Int64
}

// NewNamer draws the UUID of a new Namer.
func NewNamer(e env.Env) *Namer { return &Namer{uuid: e.UUID()} }

// Manifest, ManifestList and IndexManifest name files of the manifest directory.
func (n *Namer) Manifest() string      { return n.next(ManifestPrefix, &n.manifest) }
func (n *Namer) ManifestList() string  { return n.next(ManifestListPrefix, &n.manifestList) }
func (n *Namer) IndexManifest() string { return n.next(IndexManifestPrefix, &n.indexManifest) }

// Index and Statistics name files of the directories of these names.
func (n *Namer) Index() string      { return n.next(IndexPrefix, &n.index) }
func (n *Namer) Statistics() string { return n.next(StatisticsPrefix, &n.stat) }

// Data names a data file: prefix is data-file.prefix or changelog-file.prefix
// ("" = data-), format its file format and ending. Data and changelog files
// share the counter, as they share directories.
func (n *Namer) Data(prefix, format string) string {
	if prefix == "" {
		prefix = DataPrefix
	}
	return n.next(prefix, &n.data) + "." + format
}

func (n *Namer) next(prefix string, counter *atomic.Int64) string {
	return prefix + n.uuid + "-" + strconv.FormatInt(counter.Add(1)-1, 10)
}
