//go:build cgo && !tarn_nosql

package tarnsql

/*
#include <stdint.h>
#include <stdlib.h>

char *tarn_assign_text(void *, const char *, uint64_t);
char *tarn_resize_list(void *, uint64_t);
*/
import "C"

import (
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// assignText copies bytes, which are not empty, into the vector's heap, as the
// string of row 0. DuckDB's memory limit may have no room for them.
func assignText(vec mapping.Vector, bytes []byte) error {
	return thrown(C.tarn_assign_text(vec.Ptr, (*C.char)(unsafe.Pointer(unsafe.SliceData(bytes))), C.uint64_t(len(bytes))))
}

// resizeList makes room for n elements in the child of a LIST or MAP.
func resizeList(vec mapping.Vector, n int) error {
	return thrown(C.tarn_resize_list(vec.Ptr, C.uint64_t(n)))
}

// thrown is the exception that a guarded call met.
func thrown(what *C.char) error {
	if what == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(what))
	return parseFailure(C.GoString(what)).error("passing rows to DuckDB", nil)
}
