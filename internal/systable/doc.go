// Package systable reads a table's metadata as rows: $snapshots, $files,
// $schemas, $options, $manifests, $partitions, $buckets and $statistics, with
// the columns and the values Java Paimon gives them; $commits and $advice, which
// Java does not have.
//
// Floor F4. It stands beside plan and read and uses the plan.
package systable
