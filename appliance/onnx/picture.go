package onnx

import (
	"errors"
	"fmt"
)

// Picture is one I420 picture (BT.601, limited range): the Y plane, then U, then V, rows without
// padding; chroma planes are half as wide and high, rounded up. Pixels usually are a view into a
// frame ring another process writes: they may change while they are read, so whoever took the view
// checks it again after Prepare.
type Picture struct {
	Pixels        []byte
	Width, Height int
}

// ErrPicture is wrapped by the errors of a picture that cannot be what its header says.
var ErrPicture = errors.New("picture refused")

// planes checks the untrusted geometry and cuts the picture up.
func (p *Picture) planes() (y, u, v []byte, err error) {
	if p.Width < 1 || p.Height < 1 || p.Width > maxPictureSide || p.Height > maxPictureSide {
		return nil, nil, nil, fmt.Errorf("%w: %d×%d is not within 1…%d", ErrPicture, p.Width, p.Height, maxPictureSide)
	}
	luma, chroma := p.Width*p.Height, ((p.Width+1)/2)*((p.Height+1)/2)
	if len(p.Pixels) != luma+2*chroma {
		return nil, nil, nil, fmt.Errorf("%w: %d×%d in I420 has %d bytes, this one %d", ErrPicture, p.Width, p.Height, luma+2*chroma, len(p.Pixels))
	}
	return p.Pixels[:luma], p.Pixels[luma : luma+chroma], p.Pixels[luma+chroma:], nil
}
