package parquet

import "slices"

// Portable reports a file in which nothing is compressed in a way that readers
// of Parquet outside of the Java world lack.
func (f *File) Portable() bool {
	for _, g := range f.meta.groups {
		for _, c := range g.columns {
			if !slices.Contains(portableCodecs, c.codec) {
				return false
			}
		}
	}
	return true
}

// Codecs names what the file's columns are compressed with, each codec once.
func (f *File) Codecs() []string {
	var out []string
	for _, g := range f.meta.groups {
		for _, c := range g.columns {
			if name := codecName(c.codec); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

var portableCodecs = []int32{codecNone, codecSnappy, codecGzip, codecBrotli, codecZstd, codecLZ4Raw}
