// Package ocf knows what Avro's object container files are made of: the schema
// in the header, values, compressed blocks. Manifests and Avro data files are
// such files; what their records mean is told there. Why not a library:
// docs/adr/0005-avro-containers.md.
//
// Floor F0.
package ocf
