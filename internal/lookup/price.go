package lookup

import "github.com/tarnlake/tarn/internal/datafile"

// A data file gets a local one when reading it directly has cost as much more than
// reading the local one would have as making that costs: then the wrong choice, had
// it been made, costs at most twice the right one. Where there is a local file, the
// cheaper of the two is read each time: few keys lie in few blocks, but all of a data
// file is read faster than all blocks.
//
// Costs are bytes read of the data file, which stand for inflating and decoding them;
// that they were really read tells how much pruning, and the keys' lying together,
// spared. BenchmarkLookup shows what else costs as much.
const (
	// buildPrice is what making a local file costs for a byte of the data file: reading
	// all, and encoding, compressing and writing it.
	buildPrice = 7
	// blockPrice is what reading a block costs, of about blockBytes in memory.
	blockPrice = 10 << 10
	// openPrice is what opening a data file costs.
	openPrice = 10 << 10
	// pageRows is how many rows share a page of a data file, by default.
	pageRows = 20_000

	// blockBytes is about how large a block is in memory.
	blockBytes = 32 << 10
	// inflation is how much smaller rows are in a data file than in memory, about.
	inflation = 4
)

// priceOf is what making the local file of a data file costs.
func priceOf(m *datafile.Meta) int64 { return buildPrice * m.FileSize }

// localCost is about what finding so many rows takes in a local file. Keys that are
// not there cost nothing, but for a few that get past the filter.
func localCost(m *datafile.Meta, found int) int64 {
	blocks := m.FileSize*inflation/blockBytes + 1
	return min(int64(found), blocks) * blockPrice
}

// cheaper reports that so many keys, which lie in span of the blocks of a local file,
// cost less there than in the data file; kept of the blocks are in memory.
func cheaper(m *datafile.Meta, keys, span, blocks, kept int) bool {
	local := int64(min(keys, span)) * blockPrice
	local -= local * int64(kept) / int64(blocks)
	pages := max(1, m.RowCount/pageRows)
	touched := min(int64(keys), pages*int64(span)/int64(blocks)+1)
	return local <= openPrice+m.FileSize*touched/pages
}
