package models

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Class returns the number of the class that has name as its label, in upper or lower case, or as
// its number. The error lists the first labels.
func (m *Model) Class(name string) (int, error) {
	const maxListed = 20
	classes := m.spec.Classes
	switch m.head() {
	case trace.Classes:
	case trace.TokenClasses:
		if classes == 1 {
			classes = 2 // original and replaced
		}
	default:
		return 0, fmt.Errorf("models: %s has no classes", m.info.Name)
	}
	var labels []string
	for id := range classes {
		label := m.class(id).Text
		if classes == 2 && m.spec.Classes == 1 {
			label = [...]string{"original", "replaced"}[id]
		}
		if strings.EqualFold(label, name) || strconv.Itoa(id) == name {
			return id, nil
		}
		if id < maxListed {
			labels = append(labels, label)
		}
	}
	if classes > maxListed {
		labels = append(labels, "…")
	}
	return 0, fmt.Errorf("models: %s has no class %.60q; %sit has %s",
		m.info.Name, name, message.DidYouMean(name, labels), strings.Join(labels, ", "))
}
