package parquet

import "unsafe"

// bytesOf views a slice of fixed-width values as its bytes.
func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// valuesOf views bytes as fixed-width values. The bytes must be aligned for T,
// as Arrow buffers are.
func valuesOf[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}
