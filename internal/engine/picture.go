package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"

	"github.com/headwater-ml/headwater/attribution"
)

// MaxPicture is the largest [Picture], in bytes of its form. One of 512 prompt tokens, 64 generated
// ones, three methods and all of 30 layers has 28 MB.
const MaxPicture = 256 << 20

// partBytes is how much of a picture one request has: base64 makes a third more of it, which is
// below maxRequest.
const partBytes = 5 << 20

// Picture is a picture that a cell drew, or that it saves.
type Picture struct {
	// Explanation is what it shows, and Against, of a comparison of two, the other one.
	Explanation, Against *attribution.Explanation
	// Show is what it shows of them, the JSON form of render.Show. Nil is what Origin of
	// Explanation says.
	Show json.RawMessage
	// Other, if it is not empty, says why the picture cannot be saved, and what can.
	Other string
}

// upload puts a picture into a request. The engine gets what does not fit in requests before it.
// The model of the request is that of the explanation, as far as it names it.
func (c Client) upload(ctx context.Context, r Request, p Picture) (Request, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(p); err != nil {
		return r, pkg.Errorf("the explanation cannot be sent: %w", err)
	}
	data := b.Bytes()
	if len(data) > MaxPicture {
		return r, usagef("the explanation has %d bytes; at most %d can be saved: explain with "+
			"fewer methods or without all layers", len(data), MaxPicture)
	}
	if e := p.Explanation; e != nil {
		r.Model = Model{Name: e.Model.Name, Backend: e.Model.Backend, DType: typeOf(e)}
	}
	for ; len(data) > partBytes; data = data[partBytes:] {
		if r.Upload == "" {
			r.Upload = rand.Text()
		}
		part := Request{Kind: KindPart, Upload: r.Upload, Picture: data[:partBytes]}
		if err := c.do(ctx, part, func(*Event) error { return nil }); err != nil {
			return r, err
		}
	}
	r.Picture = data
	return r, nil
}

// typeOf returns the type of the weights that made an explanation, "" if it does not say it.
func typeOf(e *attribution.Explanation) string {
	var origin struct {
		Model struct {
			DType string `json:"dtype"`
		} `json:"model"`
	}
	_ = json.Unmarshal(e.Origin, &origin) // the engine names what is wrong with it
	return origin.Model.DType
}

// ReadPicture returns the picture that a client sent. It returns an error if one of its
// explanations contradicts itself, as one may that somebody changed.
func ReadPicture(data []byte) (p Picture, err error) {
	if err = gob.NewDecoder(bytes.NewReader(data)).Decode(&p); err != nil {
		return p, pkg.Errorf("the picture cannot be read: %w", err)
	}
	for _, e := range []**attribution.Explanation{&p.Explanation, &p.Against} {
		if *e == nil {
			continue
		}
		var whole explaining
		if err := whole.grow(*e); err != nil {
			return p, err
		}
		*e = whole.e
	}
	return p, nil
}
