#include "textflag.h"

// The site as ABI.md draws it; an observer finds it by its bytes. Its four arguments go
// into the registers in which C would have them, so that one program serves all writers.

// func probeSite(stream, model uint64, captureNS int64, frame uint64)
TEXT ·probeSite(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ stream+0(FP), DI
	MOVQ model+8(FP), SI
	MOVQ captureNS+16(FP), DX
	MOVQ frame+24(FP), CX
	BYTE $0x90 // nop: the site
	BYTE $0x0F; BYTE $0x1F; BYTE $0x44; BYTE $0x00; BYTE $0x00 // nop of 5 bytes
	RET
	LONG $0x77656B73 // "skew"
	LONG $0x65746167 // "gate"
	WORD $0x702D     // "-p"
	// Never run. Its opcode reads "1=", its operand is the distance from the end of the
	// instruction to the semaphore + 4: from the operand itself to the semaphore.
	XORL DI, ·probeSemaphore+4(SB)

// With bytes of its own in the file: a zero from Go would lie in .bss, where the kernel
// does not count.
DATA ·probeSemaphore+0(SB)/2, $0
GLOBL ·probeSemaphore(SB), NOPTR, $2
