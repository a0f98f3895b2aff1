#include "textflag.h"

// func one(p unsafe.Pointer)
TEXT ·one(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 0(AX)
	RET

// func two(p unsafe.Pointer)
TEXT ·two(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 0(AX)
	PREFETCHT0 64(AX)
	RET
