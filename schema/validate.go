package schema

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Validate refuses what Java 1.4.2's SchemaValidation refuses when a table is
// created or altered, naming option or column and a way out. It also refuses
// values of known options that do not parse, which Java notices only when it
// uses them. What this version of Tarn cannot write or read is no matter here:
// such tables may be made for others; see option.CheckWrite.
func (s *Schema) Validate() error {
	opts, err := option.Parse(s.Options)
	if err != nil {
		return err
	}
	v := validator{s: s, opts: opts}
	for _, rule := range []func() error{
		v.keyColumns, v.columnNames, v.defaults, v.bucket, v.scanMode, v.fieldOptions, v.sequence, v.mergeEngine,
		v.changelog, v.retention, v.expiry, v.rowKind, v.deletionVectors, v.columnTypes, v.rowTracking, v.blobs,
		v.clustering, v.chainTable, v.otherModes,
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

type validator struct {
	s    *Schema
	opts option.Options
}

// get is an option's text, default included, "" when there is none.
func (v *validator) get(name string) string {
	k, _ := option.Lookup(name)
	text, _ := k.Get(v.s.Options)
	return text
}

func (v *validator) on(name string) bool { return strings.EqualFold(v.get(name), "true") }

func (v *validator) set(name string) bool {
	_, ok := v.s.Options[name]
	return ok
}

func (v *validator) has(column string) bool { return v.s.Index(column) >= 0 }

func (v *validator) crossPartition() bool {
	if !v.s.HasPrimaryKey() {
		return false
	}
	return slices.ContainsFunc(v.s.PartitionKeys, func(k string) bool { return !slices.Contains(v.s.PrimaryKeys, k) })
}

// keyColumns: keys are of types that can be compared and hashed, and a primary
// key is more than the partition.
func (v *validator) keyColumns() error {
	upsert := splitTrim(v.get("upsert-key"))
	for _, keys := range []struct {
		what  string
		names []string
	}{{"primary key", v.s.PrimaryKeys}, {"partition key", v.s.PartitionKeys}, {"upsert key", upsert}} {
		for _, name := range keys.names {
			i := v.s.Index(name)
			if i < 0 {
				return v.s.noSuchColumn("the "+keys.what+" names no column", "key", name)
			}
			switch t := v.s.Fields[i].Type; t.Root {
			case types.Array, types.Map, types.Multiset, types.Row:
				return invalid("the "+keys.what+" has a column of a nested type", "column", name, "type", t.WithNull(true)).
					WithHint("Keys are made of columns with simple types.")
			}
		}
	}
	if len(upsert) > 0 && v.s.HasPrimaryKey() {
		return invalid("a table with a primary key needs no upsert-key", "upsert-key", v.get("upsert-key")).
			WithHint("Remove the option upsert-key.")
	}
	if v.s.HasPrimaryKey() && len(v.s.TrimmedPrimaryKeys()) == 0 {
		return invalid("the primary key is the same as the partition keys: a partition could hold one row only",
			"primary key", strings.Join(v.s.PrimaryKeys, ",")).WithHint("Add a column to the primary key that the partition keys do not have.")
	}
	return nil
}

func (v *validator) columnNames() error {
	for _, f := range v.s.Fields {
		if types.IsSystemName(f.Name) {
			return invalid("the name is kept for a system column", "column", f.Name).
				WithHint("Names of columns must not begin with %s, nor be %s, %s, %s, %s or %s.", types.KeyPrefix,
					types.SequenceNumberName, types.ValueKindName, types.LevelName, types.RowKindName, types.RowIDName)
		}
	}
	return nil
}

func (v *validator) defaults() error {
	for _, f := range v.s.Fields {
		if err := checkDefault(f); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) bucket() error {
	n := v.opts.Bucket
	switch {
	case n == -1 && v.set("bucket-key"):
		return invalid("bucket-key makes no sense with bucket=-1", "bucket-key", v.get("bucket-key")).
			WithHint("Give a number of buckets, bucket=4 for example, or remove bucket-key.")
	case n == -1 && !v.s.HasPrimaryKey() && v.set("full-compaction.delta-commits"):
		return invalid("append tables with bucket=-1 have no full compaction by commits",
			"full-compaction.delta-commits", v.get("full-compaction.delta-commits")).WithHint("Remove the option.")
	case n == -1:
		return nil
	case n < 1 && !(n == -2 && v.s.HasPrimaryKey()):
		return invalid("the number of buckets is at least 1", "bucket", n).
			WithHint("-1 lets a table do without fixed buckets, -2 postpones them for tables with a primary key.")
	}
	keys := v.opts.BucketKeys
	for _, k := range keys {
		i := v.s.Index(k)
		switch {
		case i < 0:
			err := v.s.noSuchColumn("bucket-key names no column", "bucket-key", k)
			err.Hint += " Names are separated by commas, without blanks."
			return err
		case slices.Contains(v.s.PartitionKeys, k):
			return invalid("a partition key cannot be a bucket key", "bucket-key", k).
				WithHint("Rows of one partition would all fall into one bucket; leave %s away.", k)
		case v.s.HasPrimaryKey() && !slices.Contains(v.s.PrimaryKeys, k):
			return invalid("the bucket key must be part of the primary key", "bucket-key", k,
				"primary key", strings.Join(v.s.PrimaryKeys, ",")).WithHint("Versions of one row could fall into different buckets otherwise.")
		}
		switch t := v.s.Fields[i].Type; t.Root {
		case types.Array, types.Map, types.Multiset, types.Row:
			return invalid("a bucket key cannot be of a nested type", "bucket-key", k, "type", t.WithNull(true)).
				WithHint("Name columns with simple types.")
		}
	}
	if !v.s.HasPrimaryKey() && len(keys) == 0 {
		return invalid("an append table with buckets needs a bucket key", "bucket", n).
			WithHint("Set bucket-key to the columns whose rows belong together, or bucket=-1.")
	}
	if v.opts.BucketFunction == "mod" {
		return v.modBucket()
	}
	return nil
}

// modBucket: the function mod takes one whole number. Java refuses it later, at
// the first write.
func (v *validator) modBucket() error {
	keys := v.s.BucketKeys()
	if len(keys) == 1 {
		if r := v.s.Fields[v.s.Index(keys[0])].Type.Root; r == types.Int || r == types.BigInt {
			return nil
		}
	}
	return invalid("bucket-function.type=mod takes one bucket key of type INT or BIGINT", "bucket key", strings.Join(keys, ",")).
		WithHint("Set bucket-key to one such column, or use the default function.")
}

// fieldOptions: fields.<columns>.… options name columns.
func (v *validator) fieldOptions() error {
	for _, key := range sortedKeys(v.s.Options) {
		rest, ok := strings.CutPrefix(key, "fields.")
		if !ok || key == "fields.default-aggregate-function" {
			continue
		}
		columns, _, _ := strings.Cut(rest, ".")
		for _, c := range strings.Split(columns, ",") {
			if !v.has(c) {
				return v.s.noSuchColumn("the option names no column", "option", key, "column", c)
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (v *validator) sequence() error {
	seq := v.opts.SequenceFields
	for i, f := range seq {
		switch {
		case !v.has(f):
			return v.s.noSuchColumn("sequence.field names no column", "sequence.field", f)
		case v.set("fields." + f + ".aggregate-function"):
			return invalid("a sequence field cannot be aggregated", "sequence.field", f, "option", "fields."+f+".aggregate-function").
				WithHint("Remove the option.")
		case slices.Contains(seq[:i], f):
			return invalid("sequence.field names a column twice", "sequence.field", f).WithHint("Name each column once.")
		}
	}
	switch {
	case len(seq) == 0:
	case v.opts.MergeEngine == "first-row":
		return invalid("first-row keeps the first row written, it takes no sequence.field", "sequence.field", strings.Join(seq, ",")).
			WithHint("Remove sequence.field, or use merge-engine=deduplicate.")
	case v.crossPartition():
		return invalid("sequence.field needs a primary key that holds all partition keys", "primary key", strings.Join(v.s.PrimaryKeys, ","),
			"partition keys", strings.Join(v.s.PartitionKeys, ",")).WithHint("Add the partition keys to the primary key, or remove sequence.field.")
	}
	return nil
}

func (v *validator) changelog() error {
	producer := v.opts.ChangelogProducer
	overwrite := v.on("streaming-read-overwrite")
	switch {
	case !v.s.HasPrimaryKey() && producer != "none":
		return invalid("a changelog producer needs a primary key", "changelog-producer", producer).
			WithHint("Define a primary key, or remove the option.")
	case overwrite && (producer == "full-compaction" || producer == "lookup"):
		return invalid("with this changelog producer an overwrite would be streamed twice", "streaming-read-overwrite", true,
			"changelog-producer", producer).WithHint("Set streaming-read-overwrite=false.")
	case overwrite && !v.s.HasPrimaryKey():
		return invalid("streaming-read-overwrite is for tables with a primary key").
			WithHint("Append tables have streaming-read-append-overwrite.")
	case v.opts.MergeEngine == "first-row" && producer != "none" && producer != "lookup":
		return invalid("first-row works with the changelog producers none and lookup only", "changelog-producer", producer).
			WithHint("Set one of them, or use another merge-engine.")
	case v.on("table-read.sequence-number.enabled") && !v.s.HasPrimaryKey():
		return invalid("only tables with a primary key have sequence numbers to read", "option", "table-read.sequence-number.enabled").
			WithHint("Define a primary key, or remove the option.")
	}
	return nil
}

func (v *validator) rowKind() error {
	f := v.opts.RowKindField
	if !v.set("rowkind.field") {
		return nil
	}
	i := v.s.Index(f)
	if i < 0 {
		return v.s.noSuchColumn("rowkind.field names no column", "rowkind.field", f)
	}
	if !v.s.Fields[i].Type.IsString() {
		return invalid("the column of rowkind.field must be text: +I, -U, +U, -D", "rowkind.field", f,
			"type", v.s.Fields[i].Type.WithNull(true)).WithHint("Name a column of type STRING, or remove the option.")
	}
	return nil
}

// The file formats of Java Paimon 1.4 and its modules.
var fileFormats = []string{"parquet", "orc", "avro", "csv", "json", "text", "blob", "lance"}

// columnTypes: the file format can hold every column.
func (v *validator) columnTypes() error {
	if !slices.Contains(fileFormats, v.opts.FileFormat) {
		return invalid("no such file format", "file.format", v.opts.FileFormat).WithHint("One of %s.", strings.Join(fileFormats, ", "))
	}
	for _, f := range v.s.Fields {
		if err := formatHolds(v.opts.FileFormat, f.Type); err != nil {
			return tarnerr.Trace("validating column", err, "column", f.Name)
		}
	}
	return nil
}

func formatHolds(format string, t types.Type) error {
	refuse := func(hint string) error {
		return invalid("files of this format cannot hold the type", "file.format", format, "type", t.WithNull(true)).WithHint("%s", hint)
	}
	switch format {
	case "avro":
		switch {
		case (t.Root == types.Timestamp || t.Root == types.TimestampLTZ) && t.Precision > 6:
			return refuse("Avro has timestamps up to precision 6.")
		case t.Root == types.Time && t.Precision > 3:
			return refuse("Avro has times up to precision 3.")
		case t.Root == types.Variant:
			return refuse("Use file.format=parquet.")
		}
	case "parquet":
		if t.Root == types.Vector {
			return refuse("Use file.format=avro: Java Paimon 1.4 has no VECTOR in Parquet. ARRAY works in all formats.")
		}
	case "orc":
		switch t.Root {
		case types.Variant:
			return refuse("Use file.format=parquet.")
		case types.Vector:
			return refuse("Use file.format=avro.")
		}
	}
	if t.Root == types.Geometry || t.Root == types.Geography {
		return tarnerr.New(tarnerr.Unsupported, "validating schema", "Java Paimon 1.4 does not know this type", "type", t.WithNull(true)).
			WithHint("Keep shapes as BYTES, in their well-known binary form.")
	}
	for _, part := range []*types.Type{t.Key, t.Element} {
		if part != nil {
			if err := formatHolds(format, *part); err != nil {
				return err
			}
		}
	}
	for _, f := range t.Fields {
		if err := formatHolds(format, f.Type); err != nil {
			return err
		}
	}
	return nil
}
