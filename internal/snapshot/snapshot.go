package snapshot

// CommitKind is what a snapshot's commit did.
type CommitKind string

const (
	Append    CommitKind = "APPEND"
	Compact   CommitKind = "COMPACT"
	Overwrite CommitKind = "OVERWRITE"
	Analyze   CommitKind = "ANALYZE"
)

// Version is the snapshot format written and the highest one read.
const Version = 3

// BatchIdentifier is the commit identifier of every batch commit.
const BatchIdentifier = 1<<63 - 1

// Snapshot is one version of a table, in the field order of its JSON file.
// Optional fields are nil when absent and are then not written.
type Snapshot struct {
	Version                   int               `json:"version"`
	UUID                      *string           `json:"uuid,omitempty"`
	ID                        int64             `json:"id"`
	SchemaID                  int64             `json:"schemaId"` // latest schema when committed
	BaseManifestList          string            `json:"baseManifestList"`
	BaseManifestListSize      *int64            `json:"baseManifestListSize,omitempty"`
	DeltaManifestList         string            `json:"deltaManifestList"`
	DeltaManifestListSize     *int64            `json:"deltaManifestListSize,omitempty"`
	ChangelogManifestList     *string           `json:"changelogManifestList,omitempty"`
	ChangelogManifestListSize *int64            `json:"changelogManifestListSize,omitempty"`
	IndexManifest             *string           `json:"indexManifest,omitempty"`
	CommitUser                string            `json:"commitUser"`
	WriterVersion             *string           `json:"writerVersion,omitempty"` // 2.x; carried, not written
	CommitIdentifier          int64             `json:"commitIdentifier"`
	CommitKind                CommitKind        `json:"commitKind"`
	TimeMillis                int64             `json:"timeMillis"`
	TotalRecordCount          int64             `json:"totalRecordCount"`
	DeltaRecordCount          int64             `json:"deltaRecordCount"`
	ChangelogRecordCount      *int64            `json:"changelogRecordCount,omitempty"`
	Watermark                 *int64            `json:"watermark,omitempty"`
	Statistics                *string           `json:"statistics,omitempty"`
	Properties                map[string]string `json:"properties,omitempty"`
	NextRowID                 *int64            `json:"nextRowId,omitempty"` // 1.4.2 always writes it
	Operation                 *string           `json:"operation,omitempty"`
}
