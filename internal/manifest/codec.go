package manifest

import (
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// parseCompression reads manifest.compression ("" = zstd).
func parseCompression(option string) (codec string, err error) {
	switch option {
	case "", "zstd", "zstandard":
		return ocf.CodecZstd, nil
	case "null", "none":
		return ocf.CodecNull, nil
	case "deflate", "snappy":
		return option, nil
	}
	return "", tarnerr.New(tarnerr.Unsupported, "writing manifest", "compression", "manifest.compression", option).
		WithHint("Use zstd, snappy, deflate or null.")
}

// newZstd makes the compressor of a store, which its files share; level is
// file.compression.zstd-level.
func newZstd(level int) (*zstd.Encoder, error) {
	w, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderCRC(false),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "starting zstd", err)
	}
	return w, nil
}
