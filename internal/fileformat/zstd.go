package fileformat

// ZstdSlack is how much longer than its content a buffer should be that zstd
// decodes to. Java's writers stream, so that their frames do not say how long
// they are, and the decoder has its fast way only while a largest block (128 KiB)
// and some bytes would still fit: without the slack the end of each page, or all
// of a small one, is decoded at a fraction of the speed.
const ZstdSlack = 128<<10 + 64
