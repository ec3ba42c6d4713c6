package layout

import (
	"path"
	"strconv"
	"strings"
)

// MainBranch is the branch a table has from the start; its files lie in the table's directory itself.
const MainBranch = "main"

// File name prefixes.
const (
	SchemaPrefix        = "schema-"
	SnapshotPrefix      = "snapshot-"
	ChangelogPrefix     = "changelog-" // changelog metadata and changelog data files alike
	TagPrefix           = "tag-"
	BranchPrefix        = "branch-"
	ConsumerPrefix      = "consumer-"
	ManifestPrefix      = "manifest-"
	ManifestListPrefix  = "manifest-list-"
	IndexManifestPrefix = "index-manifest-"
	IndexPrefix         = "index-"
	StatisticsPrefix    = "stat-"
	DataPrefix          = "data-" // default of data-file.prefix
	BucketPrefix        = "bucket-"
)

// PostponeBucket is the number of the bucket of tables that assign buckets later.
const PostponeBucket = -2

const postponeDir = BucketPrefix + "postpone"

// Table knows the paths of one table. The zero value of every field but Dir is
// the usual one. Schemas, snapshots, tags, changelogs and consumers of a branch
// have a directory of their own; data, manifests, indexes and statistics of all
// branches share the table's.
type Table struct {
	Dir    string // the table's directory
	Branch string // "" = main
	// DataDir is the option data-file.path-directory: where in Dir the partitions begin.
	DataDir string
}

// WithBranch is the same table seen from a branch.
func (t Table) WithBranch(name string) Table {
	t.Branch = name
	return t
}

// BranchDir is where the branch's own metadata lies.
func (t Table) BranchDir() string {
	if t.Branch == "" || t.Branch == MainBranch {
		return t.Dir
	}
	return path.Join(t.Dir, "branch", BranchPrefix+t.Branch)
}

// BranchesDir holds the directories of all branches but main.
func (t Table) BranchesDir() string { return path.Join(t.Dir, "branch") }

// SchemaDir holds schema files, SchemaFile is that of an id.
func (t Table) SchemaDir() string          { return path.Join(t.BranchDir(), "schema") }
func (t Table) SchemaFile(id int64) string { return t.SchemaDir() + "/" + versioned(SchemaPrefix, id) }

// SnapshotDir holds snapshot files and hints, SnapshotFile is that of an id.
func (t Table) SnapshotDir() string { return path.Join(t.BranchDir(), "snapshot") }
func (t Table) SnapshotFile(id int64) string {
	return t.SnapshotDir() + "/" + versioned(SnapshotPrefix, id)
}

// LatestHint and EarliestHint are files that hold a snapshot id as text.
func (t Table) LatestHint() string   { return t.SnapshotDir() + "/LATEST" }
func (t Table) EarliestHint() string { return t.SnapshotDir() + "/EARLIEST" }

// ChangelogDir holds the metadata of changelogs that outlive their snapshots.
func (t Table) ChangelogDir() string { return path.Join(t.BranchDir(), "changelog") }
func (t Table) ChangelogFile(id int64) string {
	return t.ChangelogDir() + "/" + versioned(ChangelogPrefix, id)
}

// TagDir holds tags, ConsumerDir consumers' positions.
func (t Table) TagDir() string                    { return path.Join(t.BranchDir(), "tag") }
func (t Table) TagFile(name string) string        { return t.TagDir() + "/" + TagPrefix + name }
func (t Table) ConsumerDir() string               { return path.Join(t.BranchDir(), "consumer") }
func (t Table) ConsumerFile(name string) string   { return t.ConsumerDir() + "/" + ConsumerPrefix + name }
func (t Table) ManifestDir() string               { return path.Join(t.Dir, "manifest") }
func (t Table) ManifestFile(name string) string   { return t.ManifestDir() + "/" + name }
func (t Table) IndexDir() string                  { return path.Join(t.Dir, "index") }
func (t Table) IndexFile(name string) string      { return t.IndexDir() + "/" + name }
func (t Table) StatisticsDir() string             { return path.Join(t.Dir, "statistics") }
func (t Table) StatisticsFile(name string) string { return t.StatisticsDir() + "/" + name }

// BucketDir is the directory of a bucket. The partition is a path as
// [PartitionPath] gives it, "" in tables without partitions.
func (t Table) BucketDir(partition string, bucket int32) string {
	return path.Join(t.DataRoot(), partition, BucketName(bucket))
}

// DataRoot is where the partitions begin.
func (t Table) DataRoot() string { return path.Join(t.Dir, t.DataDir) }

// DataFile is the path of a data file, changelog file or side file.
func (t Table) DataFile(partition string, bucket int32, name string) string {
	return t.BucketDir(partition, bucket) + "/" + name
}

// BucketName is the directory name of a bucket.
func BucketName(bucket int32) string {
	if bucket == PostponeBucket {
		return postponeDir
	}
	return BucketPrefix + strconv.Itoa(int(bucket))
}

// ParseBucketName reads a bucket number from a directory name.
func ParseBucketName(name string) (bucket int32, ok bool) {
	if name == postponeDir {
		return PostponeBucket, true
	}
	digits, found := strings.CutPrefix(name, BucketPrefix)
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), found && err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits
}

func versioned(prefix string, id int64) string { return prefix + strconv.FormatInt(id, 10) }

// ParseVersion reads the id from the name of a schema, snapshot or changelog
// file. Names with anything else after the prefix are foreign (other writers'
// temporary files), ok is then false.
func ParseVersion(prefix, name string) (id int64, ok bool) {
	digits, found := strings.CutPrefix(name, prefix)
	if !found {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil && id >= 0 && strconv.FormatInt(id, 10) == digits
}
