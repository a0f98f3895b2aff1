//go:build !race

#include "textflag.h"

// func storeRelease(word *atomic.Uint64, v uint64)
TEXT ·storeRelease(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ word+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET
