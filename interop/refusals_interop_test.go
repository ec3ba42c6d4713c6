//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// refusal is a combination that Java refuses when a table is made.
type refusal struct {
	options string // k=v, one a word
	shape   string // "" has a primary key; see specOf
	java    string // part of Java's message
	tarn    string // words that Tarn's message and its way out hold
}

// refusals are those of Java's SchemaValidation, and of the merge functions that it makes.
var refusals = []refusal{
	// Merge engine with sequence.field and with changelog producers.
	{"merge-engine=first-row sequence.field=s", "", "Do not support use sequence field on FIRST_ROW merge engine", "first-row sequence.field merge-engine"},
	{"merge-engine=first-row sequence.field=s,h", "", "Do not support use sequence field on FIRST_ROW merge engine", "first-row sequence.field merge-engine"},
	{"merge-engine=first-row changelog-producer=input", "", "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW", "first-row changelog-producer=input merge-engine"},
	{"merge-engine=first-row changelog-producer=full-compaction", "", "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW", "first-row changelog-producer=full-compaction merge-engine"},
	{"merge-engine=first-row deletion-vectors.enabled=true", "", "First row merge engine does not need deletion vectors", "first-row deletion-vectors.enabled"},
	{"changelog-producer=full-compaction deletion-vectors.enabled=true", "", "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP", "deletion-vectors.enabled changelog-producer=full-compaction"},
	{"changelog-producer=lookup streaming-read-overwrite=true", "", "because it will read duplicated changes", "streaming-read-overwrite changelog-producer=lookup"},
	{"changelog-producer=full-compaction streaming-read-overwrite=true", "", "because it will read duplicated changes", "streaming-read-overwrite changelog-producer=full-compaction"},
	{"changelog-producer=input", "append", "Can not set changelog-producer on table without primary keys", "primary changelog-producer=input"},
	{"changelog-producer=lookup", "append", "Can not set changelog-producer on table without primary keys", "primary changelog-producer=lookup"},
	{"changelog-producer=full-compaction", "append", "Can not set changelog-producer on table without primary keys", "primary changelog-producer=full-compaction"},
	{"streaming-read-overwrite=true", "append", "Doesn't support streaming read the changes from overwrite", "primary streaming-read-overwrite"},
	{"table-read.sequence-number.enabled=true", "append", "for non-primary-key table", "primary table-read.sequence-number.enabled"},

	// sequence.field and rowkind.field.
	{"sequence.field=zz", "", "Sequence field: 'zz' can not be found", "sequence.field=zz"},
	{"sequence.field=s,s", "", "Sequence field 's' is defined repeatedly", "sequence.field"},
	{"sequence.field=s merge-engine=aggregation fields.s.aggregate-function=max", "", "Should not define aggregation on sequence field: 's'", "sequence.field fields.s.aggregate-function"},
	{"sequence.field=s bucket=-1", "cross", "sequence.field in cross partition update case", "sequence.field primary"},
	{"rowkind.field=zz", "", "Rowkind field: 'zz' can not be found", "rowkind.field=zz"},

	// Sequence groups, and what takes rows away.
	{"merge-engine=partial-update ignore-delete=true partial-update.remove-record-on-delete=true", "", "ignore-delete and partial-update.remove-record-on-delete have conflicting behavior", "ignore-delete partial-update.remove-record-on-delete"},
	{"merge-engine=partial-update fields.g.sequence-group=a ignore-delete=true partial-update.remove-record-on-sequence-group=g", "", "ignore-delete and partial-update.remove-record-on-sequence-group have conflicting behavior", "ignore-delete partial-update.remove-record-on-sequence-group"},
	{"merge-engine=partial-update fields.g.sequence-group=a partial-update.remove-record-on-delete=true", "", "sequence-group and partial-update.remove-record-on-delete have conflicting behavior", "sequence-group partial-update.remove-record-on-delete"},
	{"merge-engine=partial-update fields.g.sequence-group=a partial-update.remove-record-on-sequence-group=h", "", "must be part of sequence groups", "sequence-group partial-update.remove-record-on-sequence-group h"},
	{"merge-engine=partial-update partial-update.remove-record-on-sequence-group=g", "", "must be part of sequence groups", "sequence-group partial-update.remove-record-on-sequence-group g"},
	{"merge-engine=partial-update fields.g.sequence-group=a fields.h.sequence-group=a", "", "is defined repeatedly by multiple groups", "fields.h.sequence-group several"},
	{"merge-engine=partial-update fields.g.sequence-group=zz", "", "Field zz can not be found in table schema", "fields.g.sequence-group zz"},
	{"merge-engine=partial-update fields.zz.sequence-group=a", "", "Field zz can not be found in table schema", "fields.zz.sequence-group zz"},
	{"fields.zz.aggregate-function=sum merge-engine=aggregation", "", "Field zz can not be found in table schema", "fields.zz.aggregate-function"},

	// Aggregates.
	{"merge-engine=aggregation fields.a.aggregate-function=nonsense", "", "nonsense", "fields.a.aggregate-function nonsense sum"},
	{"merge-engine=aggregation fields.default-aggregate-function=nonsense", "", "nonsense", "fields.default-aggregate-function nonsense sum"},
	{"merge-engine=partial-update fields.g.sequence-group=a fields.a.aggregate-function=nonsense", "", "nonsense", "fields.a.aggregate-function nonsense sum"},
	{"merge-engine=partial-update fields.a.aggregate-function=sum", "", "Must use sequence group for aggregation functions but not found for field a", "fields.a.aggregate-function sequence-group"},
	{"merge-engine=partial-update fields.g.sequence-group=a fields.b.aggregate-function=sum", "", "Must use sequence group for aggregation functions but not found for field b", "fields.b.aggregate-function sequence-group"},
	{"merge-engine=partial-update fields.default-aggregate-function=sum", "", "Must use sequence group for aggregation functions", "fields.default-aggregate-function sequence-group"},

	// Record-level expiry.
	{"record-level.expire-time=1h record-level.time-field=zz", "", "Can not find time field zz for record level expire", "record-level.time-field zz"},
	{"record-level.expire-time=1h record-level.time-field=rk", "", "The record level time field type should be one of INT, BIGINT, or TIMESTAMP", "record-level.time-field rk STRING"},

	// Buckets.
	{"bucket=-1 full-compaction.delta-commits=2", "append", "does not support 'full-compaction.delta-commits'", "full-compaction.delta-commits bucket"},
	{"bucket=-1 bucket-key=k", "", "Cannot define 'bucket-key' with bucket = -1", "bucket-key bucket"},
	{"bucket=-1 bucket-key=k", "append", "Cannot define 'bucket-key' with bucket = -1", "bucket-key bucket"},
	{"bucket=0", "", "The number of buckets needs to be greater than 0", "bucket"},
	{"bucket=-3", "", "The number of buckets needs to be greater than 0", "bucket"},
	{"bucket=-2", "append", "The number of buckets needs to be greater than 0", "bucket primary"},
	{"bucket=2", "append", "You should define a 'bucket-key' for bucketed append mode", "bucket-key bucket"},

	// Retention.
	{"snapshot.num-retained.min=3 snapshot.num-retained.max=2", "", "snapshot.num-retained.min should not be larger than snapshot.num-retained.max", "snapshot.num-retained.min snapshot.num-retained.max"},
	{"changelog.num-retained.min=3 changelog.num-retained.max=2", "", "changelog.num-retained.min should not be larger than changelog.num-retained.max", "changelog.num-retained.min changelog.num-retained.max"},
	{"partition.expiration-time=1d", "", "Can not set 'partition.expiration-time' for non-partitioned table", "partition.expiration-time"},

	// Modes that go with few of the above.
	{"upsert-key=k", "", "Cannot define 'upsert-key'", "upsert-key primary"},
	{"row-tracking.enabled=true bucket=-1", "", "for row tracking table", "row-tracking.enabled primary"},
	{"row-tracking.enabled=true bucket=2 bucket-key=k", "append", "it only support bucket = -1", "row bucket=2"},
	{"clustering.incremental=true clustering.columns=a", "", "for incremental clustering table", "clustering.incremental primary"},
	{"pk-clustering-override=true deletion-vectors.enabled=true", "", "without 'clustering.columns'", "pk-clustering-override clustering.columns"},
	{"pk-clustering-override=true clustering.columns=a", "", "Cannot support deletion-vectors disabled", "pk-clustering-override deletion-vectors.enabled"},
	{clustered + "record-level.expire-time=1h record-level.time-field=s", "", "Cannot support record level expire time", "pk-clustering-override record-level.expire-time"},
	{clustered + "merge-engine=partial-update", "", "Cannot support merge engine: partial-update", "pk-clustering-override merge-engine"},
	{clustered + "merge-engine=aggregation", "", "Cannot support merge engine: aggregation", "pk-clustering-override merge-engine"},
	{clustered + "sequence.field=s", "", "Cannot support sequence field: [s]", "pk-clustering-override sequence.field"},
	{clustered + "changelog-producer=lookup", "", "Cannot support changelog producer: lookup", "pk-clustering-override changelog-producer"},
}

const clustered = "pk-clustering-override=true clustering.columns=a deletion-vectors.enabled=true "

// specOf is a table of one bucket with options. Its shape is "", with a primary key,
// "cross", with one that leaves the partition out, or "append", without.
func specOf(shape, options string) schema.Spec {
	s := schema.Spec{Options: map[string]string{"bucket": "1"}, PrimaryKeys: []string{"k"}}
	for _, c := range strings.Split("k INT NOT NULL,p STRING NOT NULL,s BIGINT,g BIGINT,h BIGINT,a BIGINT,b BIGINT,rk STRING", ",") {
		name, text, _ := strings.Cut(c, " ")
		s.Fields = append(s.Fields, types.Field{Name: name, Type: types.MustParse(text)})
	}
	switch shape {
	case "append":
		s.PrimaryKeys = nil
		s.Options["bucket"] = "-1"
	case "cross":
		s.PartitionKeys = []string{"p"}
	}
	for _, o := range strings.Fields(options) {
		k, v, _ := strings.Cut(o, "=")
		s.Options[k] = v
	}
	return s
}

// creator makes tables in Java and in Tarn, each in a warehouse of its own.
type creator struct {
	judge     *Judge
	warehouse string
	cat       catalog.Catalog
	made      int
}

func newCreator(t *testing.T) *creator {
	t.Helper()
	cat, err := tarn.Open(t.Context(), t.TempDir(), tarn.Config{Memory: 64 << 20, Durability: fileio.OS})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Close() })
	if err := cat.CreateDatabase(t.Context(), "db", true); err != nil {
		t.Fatal(err)
	}
	return &creator{judge: judge(t), warehouse: t.TempDir(), cat: cat}
}

// create makes a table in both, and says why each refuses it, if it does.
func (c *creator) create(ctx context.Context, s schema.Spec) (java, tarn error) {
	c.made++
	id := table.Identifier{Database: "db", Table: fmt.Sprint("t", c.made)}
	java = c.judge.Scenario(ctx, c.warehouse, creations{"creation", []createOp{creation(id.String(), s)}})
	return java, c.cat.CreateTable(ctx, id, s, false)
}

// says reports an error of Tarn that is a refusal, and a refusal that holds words, the
// way out included.
func says(err error, words ...string) bool {
	text := fmt.Sprint(err)
	return (errors.Is(err, tarnerr.Invalid) || errors.Is(err, tarnerr.Unsupported)) && tarnerr.Hint(err) != "" &&
		!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// What Java refuses for its options Tarn refuses too: it names the options that do not go
// together, and a way out.
func TestRefusalsAreJavas(t *testing.T) {
	c := newCreator(t)
	for _, r := range refusals {
		java, tarn := c.create(t.Context(), specOf(r.shape, r.options))
		var failure *Failure
		if !errors.As(java, &failure) || !strings.Contains(java.Error(), r.java) {
			t.Errorf("%s %s: Java says %v, want %q", r.shape, r.options, java, r.java)
		}
		if !says(tarn, strings.Fields(r.tarn)...) {
			t.Errorf("%s %s: Tarn says %v, want %s and a way out", r.shape, r.options, tarn, r.tarn)
		}
	}
}

// features are what goes with some merge engines and changelog producers, and with some
// of each other.
var features = []string{
	"sequence.field=s",
	"ignore-delete=true",
	"ignore-update-before=true",
	"rowkind.field=rk",
	"partial-update.remove-record-on-delete=true",
	"fields.g.sequence-group=a",
	"fields.g.sequence-group=a partial-update.remove-record-on-sequence-group=g",
	"aggregation.remove-record-on-delete=true",
	"fields.a.aggregate-function=sum",
	"record-level.expire-time=1h record-level.time-field=s",
	"full-compaction.delta-commits=2",
	"write-only=true",
	"force-lookup=true",
	"changelog-producer.row-deduplicate=true",
	"deletion-vectors.enabled=true",
	"bucket=-1",
	"bucket=-2",
	"streaming-read-overwrite=true",
}

// Tarn makes the tables that Java makes, and refuses those that Java refuses: each merge
// engine with each changelog producer with each feature, and each two features with each
// engine and some producer. What Tarn lacks it refuses by the name of an option of the table.
func TestCombinationsAreJavas(t *testing.T) {
	c := newCreator(t)
	var taken, refused, lacking int
	for i, f := range features {
		for j, g := range features[i:] {
			for e, engine := range []string{"deduplicate", "partial-update", "aggregation", "first-row"} {
				for p, producer := range []string{"none", "input", "lookup", "full-compaction"} {
					if j > 0 && (i+j+e+p)%4 != 0 {
						continue
					}
					s := specOf("", f+" "+g+" merge-engine="+engine+" changelog-producer="+producer)
					java, tarn := c.create(t.Context(), s)
					var options []string
					for k := range s.Options {
						options = append(options, k)
					}
					named := func(option string) bool { return strings.Contains(fmt.Sprint(tarn), option) }
					switch {
					case java == nil && tarn == nil:
						taken++
					case java == nil && errors.Is(tarn, tarnerr.Unsupported) && slices.ContainsFunc(options, named):
						lacking++
					case java != nil && says(tarn):
						refused++
					default:
						t.Errorf("%v:\nJava: %v\nTarn: %v", s.Options, java, tarn)
					}
				}
			}
		}
	}
	t.Logf("%d taken, %d refused, %d not built in Tarn", taken, refused, lacking)
	if taken < 600 || refused < 150 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}
