// Package sink carries fused frames out. A sink never stops the path: offering a frame
// copies it into a bounded queue and returns; a slower goroutine, started by the
// appliance, does what may wait. What a sink loses is counted, by reason.
//
//	frame.go json.go         a fused frame and its JSON form, a contract
//	queue.go                 path → goroutine, one writer and one reader, no lock
//	jsonl.go                 the sink for JSON lines: queue → output, with retries
//	ring.go record.go tables.go decoder.go   the sink for the output ring: no queue, published at once
//	output.go file.go stream.go   a rotated file; standard output or a FIFO
//	stats.go                 what is said of a sink
package sink
