package metamorphic

import (
	"maps"
	"strings"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// engineOptions are the options of each merge engine. s and z are the columns of
// sequence.field, d belongs to no group, rk is the column of rowkind.field.
var engineOptions = map[string]map[string]string{
	"deduplicate":             {},
	"partial-update":          {"merge-engine": "partial-update"},
	"partial-update-removing": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
	"groups":                  {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b,x", "fields.h,i.sequence-group": "c,e,y"},
	"groups-removing": {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b,x", "fields.h,i.sequence-group": "c,e,y",
		"partial-update.remove-record-on-sequence-group": "g"},
	"aggregation":          {"merge-engine": "aggregation"},
	"aggregation-removing": {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
	"first-row":            {"merge-engine": "first-row"},
}

var valueOptions = map[value]map[string]string{
	{producer, "input"}:              {"changelog-producer": "input"},
	{producer, "lookup"}:             {"changelog-producer": "lookup"},
	{producer, "lookup-later"}:       {"changelog-producer": "lookup", "lookup-wait": "false"},
	{producer, "full-compaction"}:    {"changelog-producer": "full-compaction"},
	{equal, "left-out"}:              {"changelog-producer.row-deduplicate": "true"},
	{equal, "left-out-but-d"}:        {"changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "d"},
	{compaction, "in-writer"}:        {"num-sorted-run.compaction-trigger": "2"},
	{compaction, "forced"}:           {"num-sorted-run.compaction-trigger": "3", "commit.force-compact": "true"},
	{compaction, "each-commit"}:      {"full-compaction.delta-commits": "1"},
	{compaction, "every-second"}:     {"full-compaction.delta-commits": "2", "num-sorted-run.compaction-trigger": "3"},
	{compaction, "write-only-full"}:  {"write-only": "true"},
	{compaction, "write-only-minor"}: {"write-only": "true", "num-sorted-run.compaction-trigger": "2"},
	{lookups, "forced"}:              {"force-lookup": "true"},
	{lookups, "gentle"}:              {"lookup-compact": "gentle", "lookup-compact.max-interval": "3", "num-sorted-run.compaction-trigger": "3"},
	{lookups, "gentle-forced"}:       {"lookup-compact": "gentle", "force-lookup": "true", "num-sorted-run.compaction-trigger": "2"},
	{lookups, "radical"}:             {"lookup-compact": "radical", "lookup-compact.max-interval": "2"},
	{early, "by-clock"}:              {"compaction.optimization-interval": "9 ms", "num-sorted-run.compaction-trigger": "100"},
	{early, "small-total"}:           {"compaction.total-size-threshold": "1 gb", "num-sorted-run.compaction-trigger": "100"},
	{early, "much-new"}:              {"compaction.incremental-size-threshold": "4 kb", "num-sorted-run.compaction-trigger": "100"},
	{early, "off-peak"}:              {"compaction.offpeak.start.hour": "0", "compaction.offpeak.end.hour": "24", "compaction.offpeak-ratio": "1000"},
	{early, "stop"}:                  {"num-sorted-run.stop-trigger": "2", "num-sorted-run.compaction-trigger": "2"},
	{writer, "stream-far-ahead"}:     {"num-sorted-run.stop-trigger": "1000", "full-compaction.delta-commits": "1000"},
	{sequence, "one"}:                {"sequence.field": "s"},
	{sequence, "two"}:                {"sequence.field": "s,z"},
	{sequence, "descending"}:         {"sequence.field": "s", "sequence.field.sort-order": "descending"},
	{kinds, "field"}:                 {"rowkind.field": "rk"},
	{drops, "delete"}:                {"ignore-delete": "true"},
	{drops, "update-before"}:         {"ignore-update-before": "true"},
	{buckets, "1"}:                   {"bucket": "1"},
	{buckets, "2"}:                   {"bucket": "2"},
	{buckets, "3"}:                   {"bucket": "3"},
	{format, "avro"}:                 {"file.format": "avro"},
	{format, "per-level"}:            {"file.format.per.level": "0:avro"},
	{thin, "yes"}:                    {"data-file.thin-mode": "true"},
	{buffer, "flushing"}:             {"write-buffer-size": "1 kb", "write-buffer-spillable": "false"},
	{buffer, "spilling"}:             {"write-buffer-size": "1 kb"},
}

// spec is the table of a config.
func (c config) spec() schema.Spec {
	s := schema.Spec{PrimaryKeys: []string{"k"}, Options: map[string]string{"manifest.compression": "snappy", "file.compression": "snappy"}}
	column := func(name, text string) {
		s.Fields = append(s.Fields, types.Field{Name: name, Type: types.MustParse(text)})
	}
	if c[partitions] == "yes" {
		column("p", "STRING NOT NULL")
		s.PartitionKeys, s.PrimaryKeys = []string{"p"}, []string{"p", "k"}
	}
	column("k", "INT NOT NULL")
	for name := range strings.SplitSeq("s,z,g,h,i,a,b,c,d", ",") {
		column(name, "BIGINT")
	}
	column("e", "STRING")
	column("x", setsOfFunctions[c[functions]].x)
	column("y", setsOfFunctions[c[functions]].y)
	if c[kinds] == "field" {
		column("rk", "STRING")
	}
	maps.Copy(s.Options, engineOptions[c[engine]])
	maps.Copy(s.Options, c.functionOptions())
	for a, name := range c {
		maps.Copy(s.Options, valueOptions[value{a, name}])
	}
	if c[kinds] == "field" && s.Options["merge-engine"] == "aggregation" {
		s.Options["fields.rk.aggregate-function"] = "last_value"
	}
	return s
}
