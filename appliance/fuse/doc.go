// Package fuse makes one answer of the boxes that several models gave for one frame.
//
// The path calls [Fuser.Fuse] with the boxes of the models that answered; a model that
// did not answer is left out of the call, and one that answered without boxes is passed
// with none. The two differ: an empty answer says "nothing there" and lowers the scores
// of what the others saw, a missing one says nothing.
//
//	boxes per model ─► gate (gate.go) ─► class by class: order, group (group.go, soft.go)
//	                                     ─► score (score.go) ─► k of n ─► fused boxes
//
// How boxes come together, and what happens when the overlap equals the threshold:
//
//	wbf       joins the best overlapping group, overlap > iou, against the moving mean box
//	nmw       joins the best overlapping group, overlap > iou, against the group's first box
//	nms       dropped for the first better box with overlap > iou (at equality both stay)
//	nmm       merged into the first better box with overlap >= iou (at equality they merge)
//	soft_nms  nothing joins: overlapping scores are lowered
//
// Order and determinism. Boxes are taken by weighted score downwards, then by model
// index, then by their index within the model. All arithmetic is float64, free of fused
// multiply-adds, so amd64 and arm64 give the same bits (the exponential of gaussian
// soft_nms aside, which is the machine's own). The order of the models within a
// call does not matter. The order of boxes within a model, and the numbering of the
// models, matter only where two weighted scores of one class are equal (numbering also
// changes the order of some sums, that is the last bits). For boxes and scores within
// 0…1 every output lies within 0…1, whatever the algorithm and rule.
//
// The verb `skewgate fuse` answers through [Lines], which speaks the references' dialects
// (line.go, reference.go); production code has no use for it.
package fuse
