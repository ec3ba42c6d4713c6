package option

// Spill are the options of write buffers that go to disk when memory is short.
type Spill struct {
	Enabled     bool   // write-buffer-spillable
	MaxDisk     int64  // bytes of one writer on disk from which on it flushes instead
	ForAppend   bool   // write-buffer-for-append: append tables spill, too
	MaxWriters  int    // append tables with more buckets than this in a buffer spill, too
	Handles     int    // local-sort.max-num-file-handles: files merged at once
	Threshold   int    // sort-spill-threshold: sorted runs read at once from their files; 0 = as many as fit
	Compression string // zstd, lz4, lzo, none
	ZstdLevel   int
}

func (r *reader) spill() Spill {
	s := Spill{
		Enabled: r.bool("write-buffer-spillable"), MaxDisk: r.size("write-buffer-spill.max-disk-size"),
		ForAppend: r.bool("write-buffer-for-append"), MaxWriters: r.int("write-max-writers-to-spill"),
		Handles:     r.int("local-sort.max-num-file-handles"),
		Compression: r.word("spill-compression"), ZstdLevel: r.int("spill-compression.zstd-level"),
	}
	if r.set("sort-spill-threshold") {
		s.Threshold = r.int("sort-spill-threshold")
	}
	return s
}
