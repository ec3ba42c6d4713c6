//go:build cgo && !tarn_nosql

package tarnsql

/*
#include <stdint.h>
#include <stdlib.h>

void tarn_scan_bind(void *);
void tarn_scan_init(void *);
void tarn_scan_local_init(void *);
void tarn_scan_rows(void *, void *);
void tarn_scan_forget(void *);
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
)

// scanFunction is the table function's name in DuckDB. Its only argument is the
// number of a scan that a running statement has registered.
const scanFunction = "tarn_scan"

// registerScan puts the table function into DuckDB.
func registerScan(conn mapping.Connection, e *engine) error {
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	mapping.TableFunctionSetName(f, scanFunction)
	number := mapping.CreateLogicalType(mapping.TypeBigInt)
	mapping.TableFunctionAddParameter(f, number)
	mapping.DestroyLogicalType(&number)
	mapping.TableFunctionSupportsProjectionPushdown(f, true)
	mapping.TableFunctionSetExtraInfo(f, box(e), unsafe.Pointer(C.tarn_scan_forget))
	mapping.TableFunctionSetBind(f, unsafe.Pointer(C.tarn_scan_bind))
	mapping.TableFunctionSetInit(f, unsafe.Pointer(C.tarn_scan_init))
	mapping.TableFunctionSetLocalInit(f, unsafe.Pointer(C.tarn_scan_local_init))
	mapping.TableFunctionSetFunction(f, unsafe.Pointer(C.tarn_scan_rows))
	if mapping.RegisterTableFunction(conn, f) == mapping.StateError {
		return tarnerr.New(tarnerr.Internal, "starting DuckDB", "table function refused")
	}
	return nil
}

// box lets C keep a Go value: a handle in C's memory.
func box(v any) unsafe.Pointer {
	p := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(p) = cgo.NewHandle(v)
	return p
}

func unbox[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

//export tarn_scan_forget
func tarn_scan_forget(p unsafe.Pointer) {
	h := *(*cgo.Handle)(p)
	if s, ok := h.Value().(*source); ok {
		s.close()
	}
	h.Delete()
	C.free(p)
}

//export tarn_scan_bind
func tarn_scan_bind(p unsafe.Pointer) {
	info := mapping.BindInfo{Ptr: p}
	e := unbox[*engine](mapping.BindGetExtraInfo(info))
	v := mapping.BindGetParameter(info, 0)
	id := mapping.GetInt64(v)
	mapping.DestroyValue(&v)
	s := e.find(id)
	if s == nil {
		mapping.BindSetError(info, scanFunction+" is for the engine's own use")
		return
	}
	for _, f := range s.fields {
		t, err := logicalType(f.Type)
		if err != nil {
			mapping.BindSetError(info, s.fail(tarnerr.Trace("reading table", err, "table", s.table.Name(), "column", f.Name)))
			return
		}
		mapping.BindAddResultColumn(info, f.Name, t)
		mapping.DestroyLogicalType(&t)
	}
	mapping.BindSetCardinality(info, mapping.IdxT(s.ownRows()), false)
	mapping.BindSetBindData(info, box(s), unsafe.Pointer(C.tarn_scan_forget))
}

//export tarn_scan_init
func tarn_scan_init(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	r := newRun(unbox[*scan](mapping.InitGetBindData(info)), initColumns(info))
	mapping.InitSetMaxThreads(info, mapping.IdxT(r.threads()))
	mapping.InitSetInitData(info, box(r), unsafe.Pointer(C.tarn_scan_forget))
}

// initColumns are the columns that DuckDB wants, by their number; -1 where it
// wants no value but only the row.
func initColumns(info mapping.InitInfo) []int {
	out := make([]int, mapping.InitGetColumnCount(info))
	for i := range out {
		out[i] = int(int64(mapping.InitGetColumnIndex(info, mapping.IdxT(i))))
	}
	return out
}

//export tarn_scan_local_init
func tarn_scan_local_init(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	mapping.InitSetInitData(info, box(&source{}), unsafe.Pointer(C.tarn_scan_forget))
}

//export tarn_scan_rows
func tarn_scan_rows(p, out unsafe.Pointer) {
	info := mapping.FunctionInfo{Ptr: p}
	r := unbox[*scanRun](mapping.FunctionGetInitData(info))
	s := unbox[*source](mapping.FunctionGetLocalInitData(info))
	if err := r.rows(s, mapping.DataChunk{Ptr: out}); err != nil {
		mapping.FunctionSetError(info, r.fail(err))
	}
}
