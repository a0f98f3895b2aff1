package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Question asks for the story of frames of a camera.
type Question struct {
	Camera     string
	Frame      string // "" = the newest that was closed
	Last       int    // the newest so many; 0 = not asked
	Incomplete bool   // the newest in which somebody was missing
}

// problem is an error with the HTTP code that says what kind it is.
type problem struct {
	code int
	err  error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// Problem returns an error that is answered with a code of its own.
func Problem(code int, err error) error { return &problem{code, err} }

// explain answers GET /api/v1/explain?camera=…[&frame=…|&last=N|&incomplete=1].
func explain(w http.ResponseWriter, r *http.Request, src Source) {
	query := r.URL.Query()
	last, err := number(r, "last", 1<<20)
	q := Question{Camera: query.Get("camera"), Frame: query.Get("frame"), Last: int(last)}
	if query.Has("last") && last == 0 && err == nil {
		err = errors.New("last=0: ask for 1 or more")
	}
	switch text := query.Get("incomplete"); {
	case err != nil:
	case q.Camera == "":
		err = errors.New("camera is missing: name one, as camera=gate")
	case text == "1":
		q.Incomplete = true
	case text != "" && text != "0":
		err = fmt.Errorf("incomplete=%.20q is neither 0 nor 1", text)
	}
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err)
		return
	}
	answer, err := src.Explain(r.Context(), q)
	if err != nil {
		code := http.StatusInternalServerError
		if p := (*problem)(nil); errors.As(err, &p) {
			code = p.code
		}
		writeProblem(w, code, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// Explainer tells the stories of frames.
type Explainer interface {
	// Explain returns a document for JSON. An error that is a Problem says how it is answered.
	Explain(ctx context.Context, q Question) (any, error)
}
