package split

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
)

// Version is the version of Java's DataSplit in 1.4.2, whose bytes
// [Split.MarshalBinary] gives.
const Version = 8

// magic tells splits from those of the first version, which had neither.
const magic int64 = -2394839472490812314

// MarshalBinary gives Java's bytes of s.
func (s *Split) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// AppendBinary appends Java's bytes of s to dst.
func (s *Split) AppendBinary(dst []byte) ([]byte, error) {
	const op = "serialising split"
	if s.Part != nil {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "a piece of a file", "from", s.Part.From, "to", s.Part.To)
	}
	if s.Change != nil {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "a split of a change between two states")
	}
	sign := magic
	dst = binary.BigEndian.AppendUint64(dst, uint64(sign))
	dst = binary.BigEndian.AppendUint32(dst, Version)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.SnapshotID))
	dst = datafile.AppendRow(dst, s.Partition)
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.Bucket))
	dst, err := datafile.AppendUTF(dst, s.BucketPath)
	if err != nil {
		return nil, tarnerr.Trace(op, err, "path", s.BucketPath)
	}
	dst = datafile.AppendBool(dst, s.TotalBuckets != nil)
	if s.TotalBuckets != nil {
		dst = binary.BigEndian.AppendUint32(dst, uint32(*s.TotalBuckets))
	}
	// No files before a change and no deletion vectors of them, since 0.6.
	dst = append(dst, 0, 0, 0, 0, 0)
	if dst, err = datafile.AppendMetas(dst, s.Files); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if dst, err = appendDeletions(dst, s.Deletions); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	return datafile.AppendBool(datafile.AppendBool(dst, s.Streaming), s.RawConvertible), nil
}

func appendDeletions(dst []byte, ds []*DeletionFile) ([]byte, error) {
	dst = datafile.AppendBool(dst, ds != nil)
	if ds == nil {
		return dst, nil
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(ds)))
	for _, d := range ds {
		dst = datafile.AppendBool(dst, d != nil)
		if d == nil {
			continue
		}
		var err error
		if dst, err = datafile.AppendUTF(dst, d.Path); err != nil {
			return dst, err
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.Offset))
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.Length))
		cardinality := int64(-1)
		if d.Cardinality != nil {
			cardinality = *d.Cardinality
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(cardinality))
	}
	return dst, nil
}

// UnmarshalBinary reads a split of any version up to [Version]; a later one is Unsupported.
func (s *Split) UnmarshalBinary(data []byte) error {
	const op = "deserialising split"
	w := datafile.NewWire(data)
	first, version := w.Long(), 1
	out := Split{SnapshotID: first}
	if first == magic {
		version = int(w.Int())
		if w.Err() == nil && (version > Version || version < 2) {
			return tarnerr.New(tarnerr.Unsupported, op, "version of a later release", "version", version, "highest", Version)
		}
		out.SnapshotID = w.Long()
	}
	out.Partition, out.Bucket, out.BucketPath = w.Row(), w.Int(), w.UTF()
	if version >= 6 && w.Bool() {
		n := w.Int()
		out.TotalBuckets = &n
	}
	if w.Int() != 0 || readDeletions(w, version) != nil {
		w.Fail(tarnerr.New(tarnerr.Unsupported, op, "files before a change, as releases before 1.3 sent them to streaming readers"))
	}
	out.Files = w.Metas(metaColumns(version))
	out.Deletions = readDeletions(w, version)
	out.Streaming, out.RawConvertible = w.Bool(), w.Bool()
	if err := w.End(); err != nil {
		return tarnerr.Trace(op, err, "version", version)
	}
	if out.Deletions != nil && len(out.Deletions) != len(out.Files) {
		return tarnerr.New(tarnerr.Corrupt, op, "not one deletion file for each data file", "files", len(out.Files), "deletions", len(out.Deletions))
	}
	*s = out
	return nil
}

// metaColumns is how many columns data files have in a version.
func metaColumns(version int) int {
	switch version {
	case 1:
		return 15
	case 2:
		return 16
	case 3, 4:
		return 17
	case 5, 6:
		return 18
	case 7:
		return 19
	}
	return datafile.MetaColumns
}

func readDeletions(w *datafile.Wire, version int) []*DeletionFile {
	if !w.Bool() {
		return nil
	}
	out := []*DeletionFile{}
	for n := w.Count(); n > 0 && w.Err() == nil; n-- {
		if !w.Bool() {
			out = append(out, nil)
			continue
		}
		d := &DeletionFile{Path: w.UTF(), Offset: w.Long(), Length: w.Long()}
		if version >= 4 {
			if c := w.Long(); c != -1 {
				d.Cardinality = &c
			}
		}
		out = append(out, d)
	}
	return out
}
