package manifest

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/twmb/avro/ocf"

	"github.com/tarnlake/tarn/fileio"
)

// benchEntries is how many entries the benchmarks read and write at once: a
// manifest of a few megabytes.
const benchEntries = 20_000

func benchStore(b *testing.B) (*Store, []byte) {
	b.Helper()
	s, fio := newTestStore(b, func(c *Config) { c.TargetSize = 1 << 40 })
	ctx := context.Background()
	entries := make([]Entry, benchEntries)
	for i := range entries {
		entries[i] = entryOf(b, Add, i/500, i)
	}
	metas, err := s.WriteManifests(ctx, entries)
	if err != nil {
		b.Fatal(err)
	}
	data, err := fileio.ReadFile(ctx, fio, s.cfg.Table.ManifestFile(metas[0].FileName))
	if err != nil {
		b.Fatal(err)
	}
	return s, data
}

func perSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchEntries/b.Elapsed().Seconds()/1e6, "Mentries/s")
}

func BenchmarkReadManifest(b *testing.B) {
	s, data := benchStore(b)
	for name, filter := range map[string]EntryFilter{
		"all": {}, "without-stats": {WithoutStats: true}, "one-bucket": {Bucket: func(bucket, _ int32) bool { return bucket == 1 }},
		"nothing": {Bucket: func(bucket, _ int32) bool { return false }},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.decodeEntries(data, filter); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b)
		})
	}
	b.Run("twmb", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rd, err := ocf.NewReader(bytes.NewReader(data))
			if err != nil {
				b.Fatal(err)
			}
			entries := make([]avroEntry, 0, benchEntries)
			for {
				var e avroEntry
				if err := rd.Decode(&e); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
				entries = append(entries, e)
			}
			if len(entries) != benchEntries {
				b.Fatal(len(entries))
			}
			rd.Close()
		}
		perSecond(b)
	})
}

func BenchmarkWriteManifest(b *testing.B) {
	s, data := benchStore(b)
	entries, err := s.decodeEntries(data, EntryFilter{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.WriteManifests(context.Background(), entries); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b)
}

// A manifest is decoded without an allocation per entry.
func TestReadAllocations(t *testing.T) {
	s, fio := newTestStore(t, nil)
	ctx := context.Background()
	var entries []Entry
	for n := range 2000 {
		entries = append(entries, entryOf(t, Add, n/500, n))
	}
	metas, err := s.WriteManifests(ctx, entries)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fileio.ReadFile(ctx, fio, s.cfg.Table.ManifestFile(metas[0].FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.decodeEntries(data, EntryFilter{}); err != nil {
		t.Fatal(err)
	}
	per := testing.AllocsPerRun(5, func() {
		if _, err := s.decodeEntries(data, EntryFilter{}); err != nil {
			t.Fatal(err)
		}
	}) / float64(len(entries))
	if per > 0.1 {
		t.Errorf("%.3f allocations per entry", per)
	}
}
