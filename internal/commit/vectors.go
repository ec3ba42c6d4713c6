package commit

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
)

// In tables without buckets a deletion vector goes with one data file, and an
// index file holds the vectors of several. There the identity of a file in the
// conflict checks includes the index file that holds its vector: who replaces a
// vector takes away the file with the old one and adds it with the new one, so
// that of two who do it at once the second finds nothing to take away.

// vectorsOf says which index file holds the vector of which data file.
func vectorsOf(index []manifest.IndexEntry) (map[string]string, *conflict) {
	out := map[string]string{}
	for _, e := range index {
		if e.Kind != manifest.Add || e.IndexType != deletionVectors {
			continue
		}
		for _, v := range e.Vectors {
			if other, two := out[v.DataFile]; two {
				return nil, vectorConflict(e, "a file has two deletion vectors", v.DataFile, other, e.FileName)
			}
			out[v.DataFile] = e.FileName
		}
	}
	return out, nil
}

// pairDelta pairs what a change adds and removes with the vectors that it
// changes, and adds what it does to the vectors of files that it leaves alone.
func pairDelta(base []paired, files []manifest.Entry, index []manifest.IndexEntry) ([]paired, *conflict) {
	changes := map[string][]manifest.IndexEntry{}
	var order []string
	for _, e := range index {
		if e.IndexType != deletionVectors {
			continue
		}
		for _, v := range e.Vectors {
			if changes[v.DataFile] == nil {
				order = append(order, v.DataFile)
			}
			changes[v.DataFile] = append(changes[v.DataFile], e)
		}
	}
	var out []paired
	for _, e := range files {
		name := e.File.FileName
		of := changes[name]
		if len(of) > 1 {
			return nil, vectorConflict(of[1], "a file that is added or removed has several deletion vectors", name)
		}
		p := paired{Entry: e}
		if len(of) == 1 {
			p.vector = of[0].FileName
			delete(changes, name)
		}
		out = append(out, p)
	}
	live := map[string]paired{}
	for _, e := range base {
		live[e.File.FileName] = e
	}
	for _, name := range order {
		of, left := changes[name]
		if !left {
			continue
		}
		file, there := live[name]
		if !there {
			return nil, vectorConflict(of[0], "rows are deleted from a file that is not there any more", name)
		}
		for _, e := range of {
			p := file
			p.Kind, p.vector = e.Kind, e.FileName
			out = append(out, p)
		}
		if len(of) == 1 && of[0].Kind == manifest.Add { // the file's first vector
			p := file
			p.Kind, p.vector = manifest.Delete, ""
			out = append(out, p)
		}
	}
	return out, nil
}

func vectorConflict(e manifest.IndexEntry, what string, files ...string) *conflict {
	return &conflict{check: DeletionVector, what: what, partition: e.Partition, bucket: e.Bucket, level: -1, files: files}
}

// missingVectors looks for index files of deletion vectors that a change takes
// away and the table does not have: another commit has replaced them.
func missingVectors(base, delta []manifest.IndexEntry) *conflict {
	there := map[string]bool{}
	for _, e := range base {
		there[e.FileName] = true
	}
	for _, e := range delta {
		if e.Kind == manifest.Delete && e.IndexType == deletionVectors && !there[e.FileName] {
			return vectorConflict(e, fmt.Sprintf("the deletion vectors in %s were replaced by another commit", e.FileName), dataFiles(e)...)
		}
	}
	return nil
}

func dataFiles(e manifest.IndexEntry) []string {
	out := make([]string, len(e.Vectors))
	for i, v := range e.Vectors {
		out[i] = v.DataFile
	}
	return out
}
