#include "textflag.h"

// func loadFence()
TEXT ·loadFence(SB), NOSPLIT, $0-0
	DMB $0x9 // ISHLD
	RET

// func storeFence()
TEXT ·storeFence(SB), NOSPLIT, $0-0
	DMB $0xA // ISHST
	RET
