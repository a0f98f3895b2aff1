package nut

// crcTable is the CRC-32 of the specification: generator 0x104C11DB7, most
// significant bit first, start value zero, no final inversion. hash/crc32 only
// knows the reflected form.
var crcTable = func() (table [256]uint32) {
	for i := range table {
		c := uint32(i) << 24
		for range 8 {
			if c&(1<<31) != 0 {
				c = c<<1 ^ 0x04C11DB7
			} else {
				c <<= 1
			}
		}
		table[i] = c
	}
	return table
}()

func crcByte(c uint32, b byte) uint32 { return c<<8 ^ crcTable[byte(c>>24)^b] }
