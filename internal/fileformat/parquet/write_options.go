package parquet

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
)

// settings are the options of a writer with Paimon's defaults filled in.
type settings struct {
	codec      int32
	compressor compressor // nil: pages stay as they are
	level      int
	dictionary func(path string) bool // false forbids a dictionary for the column
	dictLimit  int64
	pageSize   int64
	pageRows   int
	groupSize  int64
	workers    int
	hold       int64
}

// compressor is what pages are compressed with.
type compressor interface {
	// EncodeLevel compresses src, into dst if CompressBound of its bytes fit there.
	EncodeLevel(dst, src []byte, level int) []byte
	CompressBound(n int64) int64
}

const (
	defaultGroupSize = 128 << 20
	defaultPageSize  = 1 << 20
	defaultPageRows  = 20_000
	maxPageSize      = 1 << 30
)

// createdBy names the writer in the form parquet-java's version check can read.
const createdBy = "tarn version 0.1.0 (build go)"

func newSettings(opts fileformat.WriteOptions) (settings, error) {
	o := options(opts.Options)
	s := settings{level: opts.ZstdLevel, workers: max(opts.Workers, 1), hold: opts.Hold}
	if s.level == 0 {
		s.level = 1
	}
	name := opts.Compression
	if v, ok := o["parquet.compression"]; ok {
		name = v
	}
	codec, err := codecOf(name)
	if err != nil {
		return s, err
	}
	level, err := o.integer("parquet.compression.codec.zstd.level", int64(s.level), 1, 22)
	if err != nil {
		return s, err
	}
	s.level, s.codec = int(level), int32(codec)
	if codec != compress.Codecs.Zstd {
		s.level = compress.DefaultCompressionLevel
	}
	if codec != compress.Codecs.Uncompressed {
		if s.compressor, err = compressorOf(codec); err != nil {
			return s, tarnerr.Wrap(tarnerr.Unsupported, "reading table options", err, "key", "file.compression", "value", name)
		}
	}
	if s.dictionary, err = o.dictionary(); err != nil {
		return s, err
	}
	if s.dictLimit, err = o.integer("parquet.dictionary.page.size", defaultPageSize, 1, maxPageSize); err != nil {
		return s, err
	}
	if s.pageSize, err = o.integer("parquet.page.size", defaultPageSize, 1, maxPageSize); err != nil {
		return s, err
	}
	rows, err := o.integer("parquet.page.row.count.limit", defaultPageRows, 1, 1<<30)
	if err != nil {
		return s, err
	}
	s.pageRows = int(rows)
	s.groupSize = defaultGroupSize
	if v, ok := o["file.block-size"]; ok {
		if s.groupSize, err = memorySize("file.block-size", v); err != nil {
			return s, err
		}
	}
	s.groupSize, err = o.integer("parquet.block.size", s.groupSize, 1, 1<<40)
	return s, err
}

// options are a table's options; the format's keys start with "parquet.".
type options map[string]string

func (o options) integer(key string, def, lo, hi int64) (int64, error) {
	v, ok := o[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, tarnerr.New(tarnerr.Invalid, "reading table options", "not a number in range", "key", key, "value", v).
			WithHint("%s takes a whole number from %d to %d.", key, lo, hi)
	}
	return n, nil
}

// dictionary reads parquet.enable.dictionary and its forms for one column,
// parquet.enable.dictionary#<column>.
func (o options) dictionary() (func(string) bool, error) {
	const key = "parquet.enable.dictionary"
	all, columns := true, map[string]bool{}
	for k, v := range o {
		column, one := strings.CutPrefix(k, key+"#")
		if k != key && !one {
			continue
		}
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(v)))
		if err != nil {
			return nil, tarnerr.New(tarnerr.Invalid, "reading table options", "neither true nor false", "key", k, "value", v)
		}
		if one {
			columns[column] = b
		} else {
			all = b
		}
	}
	return func(path string) bool {
		if b, ok := columns[path]; ok {
			return b
		}
		return all
	}, nil
}

var codecs = map[string]compress.Compression{
	"":             compress.Codecs.Zstd,
	"zstd":         compress.Codecs.Zstd,
	"none":         compress.Codecs.Uncompressed,
	"uncompressed": compress.Codecs.Uncompressed,
	"snappy":       compress.Codecs.Snappy,
	"gzip":         compress.Codecs.Gzip,
	"brotli":       compress.Codecs.Brotli,
	"lz4":          compress.Codecs.Lz4,
	"lz4_raw":      compress.Codecs.Lz4Raw,
}

func codecOf(name string) (compress.Compression, error) {
	c, ok := codecs[strings.ToLower(name)]
	if !ok {
		kind, cause := tarnerr.Invalid, "no such compression"
		if n := strings.ToLower(name); n == "lzo" {
			kind, cause = tarnerr.Unsupported, "compression "+n+" cannot be written to Parquet"
		}
		return 0, tarnerr.New(kind, "reading table options", cause, "key", "file.compression", "value", name).
			WithHint("Use zstd, snappy, gzip, lz4, lz4_raw, brotli or none.")
	}
	return c, nil
}

func compressorOf(codec compress.Compression) (compressor, error) {
	if codec == compress.Codecs.Lz4 {
		raw, err := compress.GetCodec(compress.Codecs.Lz4Raw)
		return lz4HadoopCodec{raw}, err
	}
	return compress.GetCodec(codec)
}

var memoryUnits = []struct {
	suffix string
	bytes  int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"tb", 1 << 40},
	{"kibibytes", 1 << 10}, {"mebibytes", 1 << 20}, {"gibibytes", 1 << 30},
	{"bytes", 1}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1},
}

// memorySize reads a size as Paimon writes them: "64 mb", "1g", "1024".
func memorySize(key, text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(s[len(digits):])
	n, err := strconv.ParseInt(digits, 10, 40)
	factor := int64(0)
	if unit == "" {
		factor = 1
	}
	for _, u := range memoryUnits {
		if u.suffix == unit {
			factor = u.bytes
		}
	}
	if err != nil || n < 1 || factor == 0 || n > (1<<50)/factor {
		return 0, tarnerr.New(tarnerr.Invalid, "reading table options", "not a memory size", "key", key, "value", text).
			WithHint("Write it like \"128 mb\".")
	}
	return n * factor, nil
}
