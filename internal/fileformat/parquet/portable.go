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

var portableCodecs = []int32{codecNone, codecSnappy, codecGzip, codecBrotli, codecZstd, codecLZ4Raw}
