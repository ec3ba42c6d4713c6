package option

// Spill are the options of write buffers that go to disk when memory is short.
type Spill struct {
	Enabled     bool   // write-buffer-spillable
	MaxDisk     int64  // bytes of one writer on disk from which on it flushes instead
	ForAppend   bool   // write-buffer-for-append: append tables spill, too
	MaxWriters  int    // append tables with more buckets than this in a buffer spill, too
	Handles     int    // local-sort.max-num-file-handles: files merged at once
	Compression string // zstd, lz4, lzo, none
	ZstdLevel   int
}

func (r *reader) spill() Spill {
	return Spill{
		Enabled: r.bool("write-buffer-spillable"), MaxDisk: r.size("write-buffer-spill.max-disk-size"),
		ForAppend: r.bool("write-buffer-for-append"), MaxWriters: r.int("write-max-writers-to-spill"),
		Handles:     r.int("local-sort.max-num-file-handles"),
		Compression: r.word("spill-compression"), ZstdLevel: r.int("spill-compression.zstd-level"),
	}
}
