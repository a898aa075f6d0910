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
		Robert Helen
		Michael Karen Chris Nancy Andrew Carol Eric Diana George Ruth Henry Grace Scott
		Jack Amy Oliver`),
	places: list(`store park school office beach hotel farm library
		bank theater harbor bakery airport forest stadium`),
	things: list(`book drink ring ball letter phone key ticket knife bottle
		jacket map chain lamp clock rope bag stamp blanket`),
	nouns: list(`table river bird window hammer paper flower horse stone garden shoe bread
		lamp train forest mirror
		bottle road lion pillow rope cake field wheel pond shirt pepper ladder`),
	events: list(`war trip project journey siege strike
		season course exhibition crisis expedition reign`),
	jobs: list(`doctor teacher lawyer farmer painter baker
		cook judge soldier tailor poet dentist`),
	animals: list(`cat horse rabbit parrot goat duck
		snake lion mouse bear camel`),
	instruments: list(`piano guitar violin drums flute
		bass keyboard`),
	cities: list(`Paris London Tokyo Boston Berlin Chicago Madrid
		Athens Moscow Dublin Denver Miami`),
	colors: list(`red blue green white black
		silver violet`),
	metals: list(`gold iron silver`),
	foods:  list(`soup pizza fish salad`),
	capitals: pairs(`France Paris, England London, Japan Tokyo, Spain Madrid, Russia Moscow,
		Egypt Cairo, Greece Athens, Sweden Stockholm, Ireland Dublin, Peru Lima,
		Kenya Nairobi, Iran Tehran, Scotland Edinburgh, Denmark Copenhagen, Canada Ottawa`),
	relations: [][]string{
		pairs(`hot cold, big small, up down, left right, day night, rich poor, old young`),
		pairs(`go went, see saw, take took, give gave, make made, come came, run ran`),
		pairs(`dog dogs, tree trees, house houses, hand hands, car cars, book books`),
		pairs(`king queen, man woman, father mother, brother sister, boy girl, uncle aunt`),
		pairs(`first last, long short, true false, full empty, win lose, north south`),
		pairs(`begin began, speak spoke, break broke, hold held, ride rode, fly flew`),
	},
	subjects: pairs(`key keys, book books, picture pictures, chair chairs, letter letters,
		teacher teachers, car cars, girl girls, box boxes, plant plants,
		toy toys, guest guests, horse horses, window windows, nurse nurses, tree trees`),
	attractors: pairs(`door doors, table tables, window windows, house houses, road roads,
		tree trees, garden gardens, wall walls,
		shelf shelves, lake lakes, office offices, yard yards, town towns`),
	fillers: []string{
		"It was a warm day.", "The street was quiet.", "Nobody was in a hurry.",
		"Some people were reading.", "There was music in the air.", "The news was good.",
		"A dog was barking.", "They had plenty of time.",
		"The lights were on.", "A radio was playing.", "The tea was cold.",
		"It was a quiet week.",
	},
}

var heldOutWords = words{
	names: list(`James Susan Daniel Lisa Steven Julia Kevin Rachel Brian Emily Jason Linda
		Adam Maria Frank Jane
		Edward Barbara Matthew Amanda Thomas Jennifer Joseph Elizabeth Patrick Sophia Ryan
		Olivia Ben Hannah Luke Nicole`),
	places: list(`station market museum garden restaurant church hospital house
		zoo gym studio castle temple palace factory lake tower mall village camp gallery`),
	things: list(`cup hat gift picture coat camera flower basket watch pen
		wallet candle guitar necklace bowl spoon towel sword stone`),
	nouns: list(`door mountain fish chair bucket candle cloud sheep boat kitchen jacket
		cheese clock bridge island pencil
		tiger wall spoon carpet engine apple needle tower dress pig basket plate roof bell
		button leaf`),
	events: list(`conflict voyage campaign festival rebellion construction
		battle tour debate program reform famine concert revolt`),
	jobs: list(`nurse pilot driver writer carpenter singer
		chef dancer sailor butcher clerk`),
	animals: list(`dog sheep turtle monkey pig chicken
		wolf cow frog deer donkey lizard`),
	instruments: list(`trumpet harp cello saxophone organ
		drum horn`),
	cities: list(`Rome Vienna Dallas Sydney Seattle Toronto Milan
		Naples Prague Houston Montreal Portland Florence Venice`),
	colors: list(`yellow brown purple pink gray
		golden turquoise`),
	metals: list(`copper steel bronze`),
	foods:  list(`steak pasta chicken rice`),
	capitals: pairs(`Italy Rome, Germany Berlin, China Beijing, Austria Vienna, Cuba Havana,
		Iraq Baghdad, Poland Warsaw, Norway Oslo, Portugal Lisbon, Hungary Budapest,
		Finland Helsinki, India Delhi, Belgium Brussels, Jamaica Kingston,
		Philippines Manila, Korea Seoul, Ukraine Kiev`),
	relations: [][]string{
		pairs(`high low, good bad, open closed, light dark, early late, fast slow, wet dry`),
		pairs(`eat ate, know knew, find found, write wrote, fall fell, get got, sing sang`),
		pairs(`cat cats, bird birds, door doors, stone stones, boat boats, flower flowers`),
		pairs(`son daughter, husband wife, prince princess, actor actress, bull cow, he she`),
		pairs(`strong weak, hard soft, thick thin, happy sad, buy sell, east west`),
		pairs(`drink drank, sit sat, think thought, stand stood, wear wore, tell told`),
	},
	subjects: pairs(`bag bags, lamp lamps, ticket tickets, cup cups, shoe shoes,
		doctor doctors, boy boys, bird birds, story stories, ship ships,
		child children, driver drivers, painting paintings, farmer farmers, pilot pilots,
		dog dogs`),
	attractors: pairs(`bed beds, shop shops, river rivers, bridge bridges, school schools,
		hill hills, gate gates, field fields,
		island islands, tower towers, farm farms, market markets, station stations,
		village villages`),
	fillers: []string{
		"The weather was fine.", "It was late in the evening.", "The room was full of people.",
		"Everything went well.", "Outside the rain had stopped.", "The coffee was hot.",
		"No one said much.", "It had been a long week.",
		"The sky was clear.", "A clock was ticking.", "The shops were still open.",
		"Some birds were singing.",
	},
}
