// Package story tells what became of a frame: who came when, who did not and why.
//
// A Book watches a correlator and keeps the newest frames of each camera: the group's key, each
// message with its times and its verdict, who was missing, and how it ended. What comes after a
// frame was closed is written into its story. A page copied out of the book is turned into
// stories by whoever asks:
//
//	book := story.NewBook(&cfg, story.Options{…})
//	cfg.Watch = book
//	c, err := correlate.New(cfg, …)
//	page := book.NewPage()                              // on any goroutine
//	err = book.Copy(page, c, "box-7", "gate", query)    // on the correlator's
//	doc := page.Document()                              // on any goroutine again
//
// A book only listens, so the story of a recorded run replayed through another correlator is
// that of the run itself, but for what no recording holds: how many boxes there were, how a
// process ended and what the dispatch did.
//
// # Bounds
//
// A book has room for Options.Cameras cameras, Options.Frames frames of each and
// Options.Messages messages of each frame, all of one size. A camera's room is taken with its
// first frame; after that nothing is allocated. Of a message that finds no room its frame counts
// that it came.
package story
