//go:build cgo && !tarn_nosql

// Calls of DuckDB that throw: its memory limit is an exception, which would end
// the process if it reached the Go frames above.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

extern "C" {
void duckdb_unsafe_vector_assign_string_element_len(void *vector, uint64_t index, const char *bytes, uint64_t n);
int duckdb_list_vector_reserve(void *vector, uint64_t capacity);
int duckdb_list_vector_set_size(void *vector, uint64_t size);
}

// guarded runs a call and returns what it threw, to be freed, or null.
template <class Call> static char *guarded(Call call) {
	try {
		call();
		return nullptr;
	} catch (const std::exception &e) {
		return strdup(e.what());
	} catch (...) {
		return strdup("an exception of no known type");
	}
}

extern "C" char *tarn_assign_text(void *vector, const char *bytes, uint64_t n) {
	return guarded([&] { duckdb_unsafe_vector_assign_string_element_len(vector, 0, bytes, n); });
}

extern "C" char *tarn_resize_list(void *vector, uint64_t n) {
	return guarded([&] {
		duckdb_list_vector_reserve(vector, n);
		duckdb_list_vector_set_size(vector, n);
	});
}
