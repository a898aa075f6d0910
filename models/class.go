package models

import (
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// Class returns the number of the class that has name as its label, in upper or lower case, or as
// its number. The error lists the first labels.
func (m *Model) Class(name string) (int, error) {
	const maxListed = 20
	if !m.head().Classifies() {
		return 0, pkg.Errorf("%s has no classes", m.info.Name)
	}
	var labels []string
	classes := m.classCount()
	for id := range classes {
		label := m.class(id).Text
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
	return 0, pkg.Errorf("%s has no class %.60q; %sit has %s",
		m.info.Name, name, message.DidYouMean(name, labels), strings.Join(labels, ", "))
}
