// Package manifest reads and writes manifests, manifest lists and index
// manifests: which data files a snapshot adds and removes.
//
// Floor F2. The Avro codec is its own, driven by the writer's schema and free
// of per-record allocations where it can be. Layout: docs/format/manifest.md.
package manifest
