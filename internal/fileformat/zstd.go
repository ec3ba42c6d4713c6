package fileformat

// ZstdSlack is how much longer than its content a buffer should be that zstd
// decodes to. Java's writers stream, so that their frames do not say how long
// they are, and the decoder has its fast way only while a largest block (128 KiB)
// and some bytes would still fit: without the slack the end of each page, or all
// of a small one, is decoded at a fraction of the speed.
const ZstdSlack = 128<<10 + 64

// ZstdRoom is how long a buffer should be for the content, of size bytes, of a
// frame: with all the slack only where the frame does not say how long it is.
func ZstdRoom(frame []byte, size int) int {
	const descriptor = 4 // behind the magic number
	if len(frame) > descriptor && frame[descriptor]&(0xc0|0x20) != 0 {
		return size + 64
	}
	return size + ZstdSlack
}
