#include "textflag.h"

// func one(p unsafe.Pointer)
TEXT ·one(SB), NOSPLIT|NOFRAME, $0-8
	MOVD p+0(FP), R0
	PRFM 0(R0), PLDL1KEEP
	RET

// func two(p unsafe.Pointer)
TEXT ·two(SB), NOSPLIT|NOFRAME, $0-8
	MOVD p+0(FP), R0
	PRFM 0(R0), PLDL1KEEP
	PRFM 64(R0), PLDL1KEEP
	RET
