package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/types"
)

func (v *validator) retention() error {
	for _, prefix := range []string{"snapshot", "changelog"} {
		least, most := v.retained(prefix, "min"), v.retained(prefix, "max")
		if least < 1 {
			return invalid("at least one must be kept", "option", prefix+".num-retained.min", "value", least).WithHint("Set it to 1 or more.")
		}
		if least > most {
			return invalid("the least number kept is larger than the most", prefix+".num-retained.min", least, prefix+".num-retained.max", most).
				WithHint("Lower the first, or raise the second.")
		}
	}
	return nil
}

// retained is a number of snapshots or changelogs to keep; what is not set for
// changelogs is that of snapshots.
func (v *validator) retained(prefix, bound string) int64 {
	text := v.get(prefix + ".num-retained." + bound)
	if text == "" {
		text = v.get("snapshot.num-retained." + bound)
	}
	n, _ := strconv.ParseInt(text, 10, 64) // option.Parse has seen it
	return n
}

func (v *validator) expiry() error {
	if v.set("partition.expiration-time") && len(v.s.PartitionKeys) == 0 {
		return invalid("a table without partitions cannot expire them", "option", "partition.expiration-time").
			WithHint("Remove the option.")
	}
	if field := v.get("record-level.time-field"); v.set("record-level.time-field") {
		i := v.s.Index(field)
		if i < 0 {
			return v.s.noSuchColumn("record-level.time-field names no column", "column", field)
		}
		switch t := v.s.Fields[i].Type; t.Root {
		case types.Int, types.BigInt, types.Timestamp, types.TimestampLTZ:
		default:
			return invalid("the column of record-level.time-field must be INT, BIGINT or a timestamp", "column", field, "type", t.WithNull(true)).
				WithHint("Name such a column, or remove the option.")
		}
	}
	return nil
}

func (v *validator) deletionVectors() error {
	if !v.on("deletion-vectors.enabled") {
		return nil
	}
	if v.opts.ChangelogProducer == "full-compaction" {
		return invalid("deletion vectors do not go with this changelog producer", "changelog-producer", v.opts.ChangelogProducer).
			WithHint("Use none, input or lookup, or set deletion-vectors.enabled=false.")
	}
	if v.opts.MergeEngine == "first-row" && !v.on("pk-clustering-override") {
		return invalid("first-row never deletes old rows, it needs no deletion vectors", "option", "deletion-vectors.enabled").
			WithHint("Remove the option.")
	}
	return nil
}

func (v *validator) rowTracking() error {
	tracking, evolution := v.on("row-tracking.enabled"), v.on("data-evolution.enabled")
	switch {
	case tracking && v.opts.Bucket != -1:
		return invalid("row tracking is for append tables with bucket=-1", "bucket", v.opts.Bucket).WithHint("Set bucket=-1.")
	case tracking && v.s.HasPrimaryKey():
		return invalid("row tracking is for tables without a primary key", "option", "row-tracking.enabled").
			WithHint("Leave the primary key away, or set row-tracking.enabled=false.")
	case evolution && !tracking:
		return invalid("data evolution needs row tracking", "option", "data-evolution.enabled").WithHint("Set row-tracking.enabled=true.")
	case evolution && v.on("deletion-vectors.enabled"):
		return invalid("data evolution does not go with deletion vectors", "option", "data-evolution.enabled").
			WithHint("Set deletion-vectors.enabled=false.")
	case evolution && v.on("clustering.incremental"):
		return invalid("data evolution does not go with incremental clustering", "option", "data-evolution.enabled").
			WithHint("Set clustering.incremental=false.")
	}
	return nil
}

func (v *validator) blobs() error {
	var blobs []string
	for _, f := range v.s.Fields {
		if f.Type.Root == types.Blob {
			blobs = append(blobs, f.Name)
		}
	}
	descriptors := splitTrim(v.get("blob-descriptor-field"))
	external := splitTrim(v.get("blob-external-storage-field"))
	for _, list := range []struct {
		key     string
		columns []string
	}{{"blob-descriptor-field", descriptors}, {"blob-external-storage-field", external}} {
		for _, c := range list.columns {
			if !slices.Contains(blobs, c) {
				return invalid("the option names a column that is no BLOB", "option", list.key, "column", c).
					WithHint("Take it off the list, or make it a BLOB.")
			}
		}
	}
	for _, c := range external {
		if !slices.Contains(descriptors, c) {
			return invalid("a column stored elsewhere must be a descriptor column as well", "column", c).
				WithHint("Add it to blob-descriptor-field.")
		}
	}
	if len(external) > 0 && v.get("blob-external-storage-path") == "" {
		return invalid("BLOBs stored elsewhere need a place", "option", "blob-external-storage-field").
			WithHint("Set blob-external-storage-path.")
	}
	switch {
	case len(blobs) == 0:
	case !v.on("data-evolution.enabled"):
		return invalid("a table with BLOB columns needs data evolution", "columns", strings.Join(blobs, ",")).
			WithHint("Set row-tracking.enabled=true and data-evolution.enabled=true, or use BYTES.")
	case len(blobs) == len(v.s.Fields):
		return invalid("a table cannot consist of BLOB columns only", "columns", strings.Join(blobs, ",")).
			WithHint("Add a column of another type.")
	case slices.ContainsFunc(blobs, func(b string) bool { return slices.Contains(v.s.PartitionKeys, b) }):
		return invalid("a BLOB column cannot be a partition key", "partition keys", strings.Join(v.s.PartitionKeys, ",")).
			WithHint("Partition by columns of other types.")
	}
	return v.vectors()
}

func (v *validator) vectors() error {
	for _, c := range splitTrim(v.get("vector-field")) {
		i := v.s.Index(c)
		if i < 0 {
			return v.s.noSuchColumn("vector-field names no column", "column", c)
		}
		if t := v.s.Fields[i].Type; t.Root != types.Vector {
			return invalid("vector-field names a column that is no VECTOR", "column", c, "type", t.WithNull(true)).
				WithHint("Take it off the list, or make it a VECTOR.")
		}
	}
	if v.set("vector.file.format") && !v.on("data-evolution.enabled") {
		return invalid("vectors in files of their own need data evolution", "option", "vector.file.format").
			WithHint("Set row-tracking.enabled=true and data-evolution.enabled=true, or remove the option.")
	}
	return nil
}

func (v *validator) clustering() error {
	if !v.on("clustering.incremental") {
		return nil
	}
	switch {
	case v.s.HasPrimaryKey():
		return invalid("incremental clustering is for tables without a primary key", "option", "clustering.incremental").
			WithHint("Leave the primary key away, or set clustering.incremental=false.")
	case v.opts.Bucket == -1:
	case v.on("bucket-append-ordered"):
		return invalid("clustering.incremental reorders rows, the bucket's order cannot be kept", "option", "bucket-append-ordered").
			WithHint("Set bucket-append-ordered=false.")
	case v.on("deletion-vectors.enabled"):
		return invalid("incremental clustering with buckets does not go with deletion vectors", "option", "deletion-vectors.enabled").
			WithHint("Set deletion-vectors.enabled=false, or bucket=-1.")
	}
	return nil
}

func (v *validator) chainTable() error {
	if !v.on("chain-table.enabled") {
		return nil
	}
	for _, c := range []struct {
		ok   bool
		need string
	}{
		{strings.EqualFold(v.get("type"), "table"), "type=table"},
		{v.s.HasPrimaryKey(), "a primary key"},
		{len(v.s.PartitionKeys) > 0, "partition keys"},
		{v.opts.Bucket > 0, "a fixed number of buckets"},
		{v.opts.ChangelogProducer == "none" || v.opts.ChangelogProducer == "input", "changelog-producer none or input"},
		{!v.on("deletion-vectors.enabled"), "deletion-vectors.enabled=false"},
		{v.set("partition.timestamp-pattern"), "partition.timestamp-pattern"},
		{v.set("partition.timestamp-formatter"), "partition.timestamp-formatter"},
	} {
		if !c.ok {
			return invalid("a chain table needs "+c.need, "option", "chain-table.enabled").
				WithHint("Define it so, or set chain-table.enabled=false.")
		}
	}
	if !v.set("chain-table.chain-partition-keys") {
		return nil
	}
	chain, keys := splitTrim(v.get("chain-table.chain-partition-keys")), v.s.PartitionKeys
	if len(chain) == 0 || len(chain) > len(keys) || !slices.Equal(keys[len(keys)-len(chain):], chain) {
		return invalid("the chain's partition keys must be the last of the table's", "chain-table.chain-partition-keys",
			strings.Join(chain, ","), "partition keys", strings.Join(keys, ",")).WithHint("Name them in the table's order, without those before.")
	}
	return nil
}

// otherModes: pk-clustering-override with all it excludes, and auto-create.
func (v *validator) otherModes() error {
	if v.on("auto-create") {
		return invalid("a table that is created explicitly cannot be auto-create", "option", "auto-create").WithHint("Remove the option.")
	}
	if !v.on("pk-clustering-override") {
		return nil
	}
	for _, c := range []struct {
		ok   bool
		need string
	}{
		{strings.TrimSpace(v.get("clustering.columns")) != "", "clustering.columns"},
		{v.on("deletion-vectors.enabled"), "deletion-vectors.enabled=true"},
		{!v.set("record-level.expire-time"), "no record-level.expire-time"},
		{v.opts.MergeEngine == "deduplicate" || v.opts.MergeEngine == "first-row", "merge-engine deduplicate or first-row"},
		{len(v.opts.SequenceFields) == 0, "no sequence.field"},
		{v.opts.ChangelogProducer == "none" || v.opts.ChangelogProducer == "input", "changelog-producer none or input"},
	} {
		if !c.ok {
			return invalid("pk-clustering-override needs "+c.need, "option", "pk-clustering-override").
				WithHint("Define the table so, or set pk-clustering-override=false.")
		}
	}
	return nil
}

// Aggregate functions Java 1.4.2 knows.
var aggregates = []string{
	"bool_and", "bool_or", "collect", "first_non_null_value", "first_not_null_value", "first_value", "hll_sketch",
	"last_non_null_value", "last_value", "listagg", "max", "merge_map", "merge_map_with_keytime", "min",
	"nested_partial_update", "nested_update", "primary-key", "product", "rbm32", "rbm64", "sum", "theta_sketch",
}

// mergeEngine: options of partial-update and aggregation fit together, so that
// a table made here for Java works there.
func (v *validator) mergeEngine() error {
	if !v.s.HasPrimaryKey() || v.opts.MergeEngine != "partial-update" && v.opts.MergeEngine != "aggregation" {
		return nil
	}
	standard := v.get("fields.default-aggregate-function")
	var protected, sequence []string
	if v.opts.MergeEngine == "partial-update" {
		var err error
		if protected, sequence, err = v.sequenceGroups(); err != nil {
			return err
		}
	}
	for _, f := range v.s.Fields {
		key := "fields." + f.Name + ".aggregate-function"
		name, own := v.s.Options[key]
		if !own {
			key, name = "fields.default-aggregate-function", standard
		}
		if name == "" {
			continue
		}
		if !slices.Contains(aggregates, name) {
			return invalid("no such aggregate function", "option", key, "value", name).WithHint("One of %s.", strings.Join(aggregates, ", "))
		}
		free := slices.Contains(sequence, f.Name) || slices.Contains(v.s.PrimaryKeys, f.Name) || name == "last_non_null_value"
		if v.opts.MergeEngine == "partial-update" && !free && !slices.Contains(protected, f.Name) {
			return invalid("an aggregated column of partial-update must stand in a sequence group", "option", key, "column", f.Name).
				WithHint("Add fields.<sequence column>.sequence-group=%s.", f.Name)
		}
	}
	return nil
}

func (v *validator) sequenceGroups() (protected, sequence []string, err error) {
	for _, key := range sortedKeys(v.s.Options) {
		columns, suffix, ok := columnsOf(key)
		if !ok || suffix != "sequence-group" {
			continue
		}
		before := len(protected)
		for _, c := range strings.Split(v.s.Options[key], ",") {
			if !v.has(c) {
				return nil, nil, v.s.noSuchColumn("the sequence group names no column", "option", key, "column", c)
			}
			if slices.Contains(protected, c) || slices.Contains(sequence, c) {
				return nil, nil, severalGroups(key, c)
			}
			protected = append(protected, c)
		}
		own := strings.Split(columns, ",")
		for _, c := range own {
			// Java takes or refuses such groups as the order of its hash map has it.
			if slices.Contains(sequence, c) || slices.Contains(protected[:before], c) {
				return nil, nil, severalGroups(key, c)
			}
		}
		sequence = append(sequence, own...)
	}
	ignore := v.opts.IgnoreDelete
	onDelete, onGroup := v.on("partial-update.remove-record-on-delete"), v.get("partial-update.remove-record-on-sequence-group")
	switch {
	case onDelete && ignore:
		err = ignoredAndRemoved("partial-update.remove-record-on-delete")
	case onGroup != "" && ignore:
		err = ignoredAndRemoved("partial-update.remove-record-on-sequence-group")
	case onDelete && len(sequence) > 0:
		err = invalid("with sequence groups rows are removed by group", "option", "partial-update.remove-record-on-delete").
			WithHint("Use partial-update.remove-record-on-sequence-group.")
	case onGroup != "":
		for _, c := range strings.Split(onGroup, ",") {
			if !slices.Contains(sequence, c) {
				err = invalid("the column is no sequence column of a group", "option", "partial-update.remove-record-on-sequence-group", "column", c).
					WithHint("Take it off the list, or give it a group: fields.%s.sequence-group.", c)
			}
		}
	}
	return protected, sequence, err
}

func severalGroups(option, column string) error {
	return invalid("the column stands in several sequence groups", "option", option, "column", column).WithHint("Leave it in one of them.")
}

func ignoredAndRemoved(removes string) error {
	return invalid("rows cannot be ignored and removed on delete at once", "options", "ignore-delete,"+removes).
		WithHint("Remove one of the two options.")
}
