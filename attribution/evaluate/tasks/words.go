package tasks

import "strings"

// words are the lists of one split. Pairs of words are two words with a space between them.
type words struct {
	names, places, things, nouns, events                      []string
	jobs, animals, instruments, cities, colors, metals, foods []string
	capitals, subjects, attractors, fillers                   []string
	relations                                                 [][]string
}

// wordsOf returns the lists of a split.
func wordsOf(split Split) *words {
	if split == Dev {
		return &devWords
	}
	return &heldOutWords
}

// list returns a list of values of facts.
func (w *words) list(name string) []string {
	return map[string][]string{
		"jobs": w.jobs, "animals": w.animals, "instruments": w.instruments, "cities": w.cities,
		"colors": w.colors, "metals": w.metals, "foods": w.foods, "things": w.things,
	}[name]
}

// list splits words at spaces, and pairs at commas.
func list(text string) []string { return strings.Fields(text) }

// pairs splits pairs of words at commas.
func pairs(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.Join(strings.Fields(all[i]), " ")
	}
	return all
}

var devWords = words{
	names: list(`John Mary Tom Sarah Paul Anna Mark Laura Peter Kate Simon Emma David Alice
		Robert Helen`),
	places: list(`store park school office beach hotel farm library`),
	things: list(`book drink ring ball letter phone key ticket knife bottle`),
	nouns: list(`table river bird window hammer paper flower horse stone garden shoe bread
		lamp train forest mirror`),
	events:      list(`war trip project journey siege strike`),
	jobs:        list(`doctor teacher lawyer farmer painter baker`),
	animals:     list(`cat horse rabbit parrot goat duck`),
	instruments: list(`piano guitar violin drums flute`),
	cities:      list(`Paris London Tokyo Boston Berlin Chicago Madrid`),
	colors:      list(`red blue green white black`),
	metals:      list(`gold iron silver`),
	foods:       list(`soup pizza fish salad`),
	capitals: pairs(`France Paris, England London, Japan Tokyo, Spain Madrid, Russia Moscow,
		Egypt Cairo, Greece Athens, Sweden Stockholm, Ireland Dublin, Peru Lima`),
	relations: [][]string{
		pairs(`hot cold, big small, up down, left right, day night, rich poor, old young`),
		pairs(`go went, see saw, take took, give gave, make made, come came, run ran`),
		pairs(`dog dogs, tree trees, house houses, hand hands, car cars, book books`),
		pairs(`king queen, man woman, father mother, brother sister, boy girl, uncle aunt`),
	},
	subjects: pairs(`key keys, book books, picture pictures, chair chairs, letter letters,
		teacher teachers, car cars, girl girls, box boxes, plant plants`),
	attractors: pairs(`door doors, table tables, window windows, house houses, road roads,
		tree trees, garden gardens, wall walls`),
	fillers: []string{
		"It was a warm day.", "The street was quiet.", "Nobody was in a hurry.",
		"Some people were reading.", "There was music in the air.", "The news was good.",
		"A dog was barking.", "They had plenty of time.",
	},
}

var heldOutWords = words{
	names: list(`James Susan Daniel Lisa Steven Julia Kevin Rachel Brian Emily Jason Linda
		Adam Maria Frank Jane`),
	places: list(`station market museum garden restaurant church hospital house`),
	things: list(`cup hat gift picture coat camera flower basket watch pen`),
	nouns: list(`door mountain fish chair bucket candle cloud sheep boat kitchen jacket
		cheese clock bridge island pencil`),
	events:      list(`conflict voyage campaign festival rebellion construction`),
	jobs:        list(`nurse pilot driver writer carpenter singer`),
	animals:     list(`dog sheep turtle monkey pig chicken`),
	instruments: list(`trumpet harp cello saxophone organ`),
	cities:      list(`Rome Vienna Dallas Sydney Seattle Toronto Milan`),
	colors:      list(`yellow brown purple pink gray`),
	metals:      list(`copper steel bronze`),
	foods:       list(`steak pasta chicken rice`),
	capitals: pairs(`Italy Rome, Germany Berlin, China Beijing, Austria Vienna, Cuba Havana,
		Iraq Baghdad, Poland Warsaw, Norway Oslo, Portugal Lisbon, Hungary Budapest`),
	relations: [][]string{
		pairs(`high low, good bad, open closed, light dark, early late, fast slow, wet dry`),
		pairs(`eat ate, know knew, find found, write wrote, fall fell, get got, sing sang`),
		pairs(`cat cats, bird birds, door doors, stone stones, boat boats, flower flowers`),
		pairs(`son daughter, husband wife, prince princess, actor actress, bull cow, he she`),
	},
	subjects: pairs(`bag bags, lamp lamps, ticket tickets, cup cups, shoe shoes,
		doctor doctors, boy boys, bird birds, story stories, ship ships`),
	attractors: pairs(`bed beds, shop shops, river rivers, bridge bridges, school schools,
		hill hills, gate gates, field fields`),
	fillers: []string{
		"The weather was fine.", "It was late in the evening.", "The room was full of people.",
		"Everything went well.", "Outside the rain had stopped.", "The coffee was hot.",
		"No one said much.", "It had been a long week.",
	},
}
