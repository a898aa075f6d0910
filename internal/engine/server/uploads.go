package server

import (
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// uploads are pictures of which a part is still to come. It is safe for concurrent use.
type uploads struct {
	mu  sync.Mutex
	all map[string][]byte
}

// add adds a part. All parts together have at most [engine.MaxPicture] bytes: those of programs
// that ended before their last part leave when there is no more room.
func (u *uploads) add(r engine.Request) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := len(r.Picture)
	for _, parts := range u.all {
		sum += len(parts)
	}
	if u.all == nil || sum > engine.MaxPicture {
		u.all = map[string][]byte{r.Upload: u.all[r.Upload]}
	}
	if len(u.all[r.Upload])+len(r.Picture) > engine.MaxPicture {
		delete(u.all, r.Upload)
		return usagef("the picture is larger than %s", message.FormatBytes(engine.MaxPicture))
	}
	u.all[r.Upload] = append(u.all[r.Upload], r.Picture...)
	return nil
}

// take returns the picture whose last part a request has.
func (u *uploads) take(r engine.Request) (engine.Picture, error) {
	u.mu.Lock()
	data := r.Picture
	if r.Upload != "" {
		data = slices.Concat(u.all[r.Upload], data)
		delete(u.all, r.Upload)
	}
	u.mu.Unlock()
	p, err := engine.ReadPicture(data)
	if err == nil && r.Kind == engine.KindPicture && p.Explanation == nil && p.Other == "" {
		err = usagef("a picture has an explanation or a reason why it cannot be saved")
	}
	return p, err
}
