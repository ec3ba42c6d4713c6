package paimon

import (
	"path"
	"strings"

	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
)

// manifests opens the table's manifests. Their names are those of one writer.
func (t *Table) manifests() (*manifest.Store, error) {
	return manifest.NewStore(manifest.Config{
		FileIO: t.components.FileIO, Table: t.place, Names: layout.NewNamer(t.components.Env), Env: t.components.Env,
		Partition:   t.schema.Select(t.schema.PartitionKeys),
		Compression: t.options.ManifestCompression, ZstdLevel: t.options.ZstdLevel,
		TargetSize: t.options.ManifestTargetSize, Workers: t.components.Workers,
	})
}

// Immutable reports the files of a table that are never written twice under one
// name, so that they can be cached: manifests and their lists, whose names hold
// a UUID. Snapshots and schemas are not among them: after a rollback their
// numbers are given out again.
func Immutable(file string) bool {
	dir, name := path.Split(file)
	return path.Base(dir) == "manifest" &&
		(strings.HasPrefix(name, layout.ManifestPrefix) || strings.HasPrefix(name, layout.IndexManifestPrefix))
}
