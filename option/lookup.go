package option

import (
	"strconv"
	"strings"
	"time"
)

// LookupFiles are the options of local files in which compactions look old rows up.
type LookupFiles struct {
	MaxDisk        int64         // bytes of one table on disk
	MaxMemory      int64         // bytes of one table in memory
	Retention      time.Duration // how long files stay that are not used
	Filter         bool          // files have a Bloom filter
	FalsePositives float64       // the share of keys it does not keep out, within (0, 1)
	Compression    string        // as Spill.Compression
	ZstdLevel      int
}

func (r *reader) lookupFiles() LookupFiles {
	l := LookupFiles{
		MaxDisk: r.size("lookup.cache-max-disk-size"), MaxMemory: r.size("lookup.cache-max-memory-size"),
		Retention: r.duration("lookup.cache-file-retention"), Filter: r.bool("lookup.cache.bloom.filter.enabled"),
		Compression: r.word("lookup.cache-spill-compression"), ZstdLevel: r.int("spill-compression.zstd-level"),
	}
	var err error
	l.FalsePositives, err = strconv.ParseFloat(strings.TrimSpace(r.text("lookup.cache.bloom.filter.fpp")), 64)
	r.keep(err)
	// Of a share that is none Java makes a filter that is none.
	l.Filter = l.Filter && l.FalsePositives > 0 && l.FalsePositives < 1
	return l
}
