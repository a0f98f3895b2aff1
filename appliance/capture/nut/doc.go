// Package nut reads the NUT container as ffmpeg writes it to a pipe: one video
// stream, raw pictures, each with its own presentation time.
//
// It follows the NUT specification (nut.txt, version 3, and the version 4 draft
// where ffmpeg writes it): main header, stream header, sync points and frame
// headers with their checksums. Everything read is taken for hostile: each length
// has a bound, each checksum is compared, and nothing is allocated by a length the
// stream names beyond one header packet.
//
//	r := nut.NewReader(pipe)
//	s, err := r.Stream()          // size, time base
//	for {
//		f, err := r.Next()        // PTS, size of the payload
//		err = r.ReadPayload(slot) // straight into the caller's memory
//	}
//
// There is no seeking and no resynchronising after damage: the stream comes from a
// process of our own, so damage means that process is broken, and it is replaced.
package nut
