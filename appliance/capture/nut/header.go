package nut

// Flags of a frame code, by the specification's names.
const (
	flagEOR       = 1 << 1
	flagCodedPTS  = 1 << 3
	flagStreamID  = 1 << 4
	flagSizeMSB   = 1 << 5
	flagChecksum  = 1 << 6
	flagReserved  = 1 << 7
	flagSideData  = 1 << 8 // version 4
	flagHeaderIdx = 1 << 10
	flagMatchTime = 1 << 11
	flagCoded     = 1 << 12
	flagInvalid   = 1 << 13
)

// Bounds of the specification where it gives one, else of this reader.
const (
	versionMin, versionMax = 3, 4
	timeBasesMax           = 16
	fieldsMax              = 64        // fields of one row of the frame code table
	tableValueMax          = 1<<16 - 1 // ffmpeg goes over the specification's 2^14
	reservedMax            = 255
	elisionMax             = 127
	elisionTotalMax        = 1024
	maxDistanceMax         = 1 << 16
	sizeAxisMax            = 1 << 16 // pixels, width and height
)

// frameCode is one row of the table that maps a frame's first byte to its defaults.
type frameCode struct {
	flags     uint64
	ptsDelta  int64
	sizeMul   uint64
	sizeLSB   uint64
	reserved  uint64
	headerIdx uint64
}

// timeBase is the length of one tick in seconds.
type timeBase struct{ num, den uint64 }

func (r *Reader) mainHeader() error {
	src := r.src
	version, err := src.v()
	if err != nil {
		return err
	}
	if version < versionMin || version > versionMax {
		return unsupported("version %d, known are %d to %d", version, versionMin, versionMax)
	}
	if version > 3 {
		if _, err := src.v(); err != nil { // minor version
			return err
		}
	}
	streams, err := src.v()
	if err != nil {
		return err
	}
	if streams != 1 {
		return unsupported("%d streams, one video stream is wanted", streams)
	}
	distance, err := src.v()
	if err != nil {
		return err
	}
	r.maxDistance = min(distance, maxDistanceMax)
	bases, err := src.vMax(timeBasesMax, "the number of time bases")
	if err != nil {
		return err
	}
	for range bases {
		num, err := src.vMax(1<<31-1, "a time base's numerator")
		if err != nil {
			return err
		}
		den, err := src.vMax(1<<31-1, "a time base's denominator")
		if err != nil {
			return err
		}
		if num == 0 || den == 0 {
			return damaged("a time base is %d/%d", num, den)
		}
		r.bases = append(r.bases, timeBase{num, den})
	}
	if len(r.bases) == 0 {
		return damaged("there is no time base")
	}
	if err := r.frameCodes(); err != nil {
		return err
	}
	if err := r.elisionHeaders(); err != nil {
		return err
	}
	r.haveMain = true
	return nil
}

// frameCodes reads the run-length coded table of all 256 frame codes.
func (r *Reader) frameCodes() error {
	src := r.src
	row := frameCode{sizeMul: 1}
	for i := 0; i < 256; {
		flags, err := src.v()
		if err != nil {
			return err
		}
		fields, err := src.vMax(fieldsMax, "the fields of a frame code")
		if err != nil {
			return err
		}
		row.flags, row.sizeLSB, row.reserved = flags, 0, 0
		count, counted := uint64(0), false
		for f := range fields {
			v, err := r.tableField(f)
			if err != nil {
				return err
			}
			switch f {
			case 0:
				row.ptsDelta = v
			case 1:
				row.sizeMul = uint64(v)
			case 3:
				row.sizeLSB = uint64(v)
			case 4:
				row.reserved = uint64(v)
			case 5:
				count, counted = uint64(v), true
			case 7:
				row.headerIdx = uint64(v)
			}
		}
		if !counted {
			if row.sizeMul < row.sizeLSB {
				return damaged("frame code %d has size %d modulo %d", i, row.sizeLSB, row.sizeMul)
			}
			count = row.sizeMul - row.sizeLSB
		}
		if count == 0 {
			return damaged("a run of frame codes from %d is empty", i)
		}
		for first := row.sizeLSB; count > 0 && i < 256; i++ {
			if i == 'N' {
				r.codes[i] = frameCode{flags: flagInvalid}
				continue
			}
			r.codes[i] = row
			r.codes[i].sizeLSB = first
			first++
			count--
		}
	}
	return nil
}

// tableField reads field f of a row: 0 and 6 are signed, the rest are not.
func (r *Reader) tableField(f uint64) (int64, error) {
	switch f {
	case 0:
		v, err := r.src.s()
		if err == nil && (v > tableValueMax || v < -tableValueMax) {
			err = damaged("a frame code's PTS step is %d", v)
		}
		return v, err
	case 6: // match time, of no use to a reader that does not seek
		return r.src.s()
	case 1, 2, 3:
		v, err := r.src.vMax(tableValueMax, "a frame code's field")
		return int64(v), err
	case 4:
		v, err := r.src.vMax(reservedMax, "a frame code's reserved count")
		return int64(v), err
	case 5:
		v, err := r.src.vMax(256, "a run of frame codes")
		return int64(v), err
	case 7:
		v, err := r.src.vMax(elisionMax, "a frame code's elision header")
		return int64(v), err
	}
	_, err := r.src.v() // a field of a later version
	return 0, err
}

// elisionHeaders reads the byte strings that small frames may leave out at their
// start. Number 0 is the empty one.
func (r *Reader) elisionHeaders() error {
	count, err := r.src.vMax(elisionMax, "the number of elision headers")
	if err != nil {
		return err
	}
	r.elisions = append(r.elisions, nil)
	total := uint64(0)
	for range count {
		n, err := r.src.vMax(255, "an elision header's length")
		if err != nil {
			return err
		}
		if total += n; n == 0 || total > elisionTotalMax {
			return damaged("elision headers are empty or over %d bytes", elisionTotalMax)
		}
		header := make([]byte, n)
		for i := range header {
			if header[i], err = r.src.byte(); err != nil {
				return inside(err)
			}
		}
		r.elisions = append(r.elisions, header)
	}
	return nil
}
