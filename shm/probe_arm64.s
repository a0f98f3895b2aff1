#include "textflag.h"

// The site as ABI.md draws it; see probe_amd64.s.

// func probeSite(stream, model uint64, captureNS int64, frame uint64)
TEXT ·probeSite(SB), NOSPLIT|NOFRAME, $0-32
	MOVD stream+0(FP), R0
	MOVD model+8(FP), R1
	MOVD captureNS+16(FP), R2
	MOVD frame+24(FP), R3
	NOOP // the site
	RET
	WORD $0x77656B73 // "skew"
	WORD $0x65746167 // "gate"
	WORD $0x3D31702D // "-p1="
	// Never run: ADRP and ADD that would load the semaphore's address.
	MOVD $·probeSemaphore(SB), R16

DATA ·probeSemaphore+0(SB)/2, $0
GLOBL ·probeSemaphore(SB), NOPTR, $2
