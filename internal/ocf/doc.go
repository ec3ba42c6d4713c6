// Package ocf knows what Avro's object container files are made of: the schema
// in the header, values, compressed blocks. Manifests and Avro data files are
// such files; what their records mean is told there.
//
// Floor F0.
package ocf
