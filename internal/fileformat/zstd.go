package fileformat

import "github.com/tarnlake/tarn/internal/ocf"

// ZstdSlack is [ocf.Slack], which says why.
const ZstdSlack = ocf.Slack

// ZstdRoom is how long a buffer should be for the content, of size bytes, of a
// frame: with all the slack only where the frame does not say how long it is.
func ZstdRoom(frame []byte, size int) int {
	const descriptor = 4 // behind the magic number
	if len(frame) > descriptor && frame[descriptor]&(0xc0|0x20) != 0 {
		return size + 64
	}
	return size + ZstdSlack
}
