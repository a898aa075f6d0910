package units_test

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// wordsOf returns the words of spans, between bars.
func wordsOf(spans []units.Span) string {
	var words []string
	for _, s := range spans {
		if s.Word != "" {
			words = append(words, s.Word)
		}
	}
	return strings.Join(words, "|")
}

// TestWordsByHand: the words of texts in many scripts, of names, numbers, labels, lists and code,
// written by hand.
func TestWordsByHand(t *testing.T) {
	for _, c := range []struct{ name, cut, want string }{
		{"Latin", "The| Holl|in| Bridge| isn|'t| Anna|'s|.", "The|Hollin Bridge|isn't|Anna|'s"},
		{"Latin with marks", "Tiếng| Vi|ệt|,| l|'|é|cole| e|\u0301|tat", "Tiếng|Việt|l'école|e\u0301tat"},
		{"Greek", "Η| γάτα| κοι|μά|ται|·| ΣΊΣ|ΥΦΟΣ|.", "Η|γάτα|κοιμάται|ΣΊΣΥΦΟΣ"},
		{"Cyrillic", "Москва| —| столица| Рос|сии|,| 1961|-|1991|.", "Москва|столица|России|1961|1991"},
		{"Hebrew", "צה|\"|ל| של|ום|.", "צה\"ל|שלום"},
		{"Arabic", "مر|حبا| بالعالم|،| ٣|٫|١٤|؟", "مرحبا|بالعالم|٣٫١٤"},
		{"Persian", "می|\u200c|خواهم| بروم", "می\u200cخواهم|بروم"},
		{"Devanagari", "नम|स्ते| दुन|िया|।", "नमस्ते|दुनिया"},
		{"Bengali", "আমি| বই| পড়|ি|।", "আমি|বই|পড়ি"},
		{"Tamil", "வணக்|கம்| உலக|ம்|.", "வணக்கம்|உலகம்"},
		{"Sinhala", "ශ්\u200dරී| ලං|කාව", "ශ්\u200dරී|ලංකාව"},
		{"Georgian", "გამარ|ჯობა| მსოფ|ლიო|!", "გამარჯობა|მსოფლიო"},
		{"Armenian", "Բար|եւ| աշ|խարհ|։", "Բարեւ|աշխարհ"},
		{"Ethiopic", "ሰላም|፡|ዓለም|።", "ሰላም|ዓለም"},
		{"Tibetan", "བཀྲ|་|ཤིས|་", "བཀྲ|ཤིས"},
		{"Hangul", "한국|어| 문장|도| 있|습니다|.", "한국어|문장도|있습니다"},
		{"Han", "今天|天气|很|好|。", "今天|天气|很|好"},
		{"Hiragana and Katakana", "カタ|カナ|と|ひら|がな|。", "カタカナ|と|ひら|がな"},
		{"Thai", "แม่|กุญแจ|อยู่|บน|โต๊ะ", "แม่|กุญแจ|อยู่|บน|โต๊ะ"},
		{"Lao", "ສະ|ບາຍ|ດີ", "ສະ|ບາຍ|ດີ"},
		{"Khmer", "សួស្តី|ពិភព|លោក", "សួស្តី|ពិភព|លោក"},
		{"Myanmar", "မင်္ဂ|လာပါ", "မင်္ဂ|လာပါ"},
		{"mixed scripts", "漢字|kan|ji|混|じり|12|3", "漢字|kanji|混|じり|123"},

		{"numbers", "1|9|3|1|,| 1|,|250|.|5| at| $|3|.|75|,| 12|%| H|₂|O| m|²", "1931|1,250.5|at|3.75|12|H₂O|m²"},
		{"dates and times", "2024|-|02|-|29| at| 10|:|30", "2024|02|29|at|10|30"},
		{"hyphens", "e|-|mail| 3|-|year|-|old| GPT|-|2| -| x", "e-mail|3-year-old|GPT-2|x"},
		{"endings", "don|'t| she|'ll| Anna|’s| boys|'| IT|'S|.| '|s", "don't|she'll|Anna|’s|boys|IT|'S|s"},
		{"code", "self|.|name|_of|[|i|]| ==| std|::|max| __|init|__| camel|Case| 0|x|1F", "self|name_of|i|std|max|__init__|camelCase|0x1F"},
		{"addresses", "some|one|@|ex|ample|.|org| U|.|S|.| v|1|.|2", "someone|example|org|U.S|v1.2"},
		{"a token of two words", "of| the c|at", "of|the|at"},
		{"control tokens", "<s>|un|<sep>|lock|ed", "un|locked"},
		{"a token of spaces", "is|▁|2| |30", "is|2|30"},
		{"bytes", "\xe5|\x9c|\xba|是", "场|是"},
		{"a word and bytes", "の\xe6|\x9c|\xac|屋", "の本|屋"},

		{"a name twice", "Morning| Star| left|.| Morning| Star| sank|.", "Morning Star|left|Morning Star|sank"},
		{"a name once", "Ann|a| Lee| left|;| the| Morning| Star| sank|.", "Anna|Lee|left|the|Morning Star|sank"},
		{"no name", "When| Mary| and| John| came|,| Mary| gave| it|.| Now| Tom| and| I| May|.", "When|Mary|and|John|came|Mary|gave|it|Now|Tom|and|I|May"},
		{"too long a name", "in| New| York| City| Hall|,| New| York", "in|New|York|City|Hall|New York"},
		{"a title", "Getting| Started| Now|\n|See| it|.", "Getting|Started|Now|See|it"},
		{"German", "Das| Haus| in| der| Stadt| Bonn| ist| alt|.", "Das|Haus|in|der|Stadt|Bonn|ist|alt"},
		{"a German name", "Frau| Merkel| ist| da| und| Frau| Merkel| spricht|.", "Frau Merkel|ist|da|und|Frau Merkel|spricht"},
		{"labels", "Pass|age| 2|:| in| Passage| 3|:\n|Step| 1|0|:", "Passage 2|in|Passage|3|Step 10"},
		{"a list", "1|.| Salt|\n|2|.| Pep|per|\n|7|)| no", "Salt|Pepper|7|no"},
		{"no list", "12|.| It| is|.|\n|40| is", "12|It|is|40|is"},
	} {
		if got := wordsOf(tokensOf(c.cut).Words()); got != c.want {
			t.Errorf("%s: words %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWordsAfter: the words of an answer do not go on those of a prompt, and a name of both is one.
func TestWordsAfter(t *testing.T) {
	answer := tokensOf("1| Lee| and| Morning| Star")
	for _, c := range []struct{ before, want string }{
		{"", "1|Lee|and|Morning Star"}, {"In 193", "1|Lee|and|Morning Star"},
		{"Das ist der Morning Star und", "1|Lee|and|Morning Star"},
		{"Das ist der und", "1|Lee|and|Morning|Star"},
	} {
		answer.Before = c.before
		if got := wordsOf(answer.Words()); got != c.want {
			t.Errorf("after %q: words %q, want %q", c.before, got, c.want)
		}
	}
}

// TestWordsOfParts: a part of a conversation begins a line, and no word goes on over it.
func TestWordsOfParts(t *testing.T) {
	p := tokensOf("user|Pass|age| 1|:| no|tes")
	p.Parts = []trace.Part{{End: 4, Kind: trace.Label}, {Begin: 4, End: 17}, {Begin: 17, End: 20}}
	if got := wordsOf(p.Words()); got != "user|Passage 1|no|tes" {
		t.Errorf("words %q", got)
	}
}

// TestWordsOfTokenizers: each token of the texts of the tokenizers' tests is in one span, in order,
// with the bytes of its tokens, and a word begins and ends with a letter, a digit or an underscore.
func TestWordsOfTokenizers(t *testing.T) {
	file, err := os.Open("../../internal/tokenizer/testdata/ref.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var texts []struct {
		Text string
		Want map[string]struct{ Offsets [][2]int }
	}
	if err := json.NewDecoder(unzipped).Decode(&texts); err != nil {
		t.Fatal(err)
	}
	if len(texts) != 319 {
		t.Errorf("%d texts", len(texts))
	}
	for _, c := range texts {
		var begins []int // of each character
		for at := range c.Text {
			begins = append(begins, at)
		}
		begins = append(begins, len(c.Text))
		for _, name := range slices.Sorted(maps.Keys(c.Want)) {
			p := units.Tokens{Text: c.Text}
			for _, o := range c.Want[name].Offsets {
				o = [2]int{begins[o[0]], begins[o[1]]}
				p.Texts = append(p.Texts, c.Text[o[0]:o[1]])
				p.Offsets = append(p.Offsets, o)
				p.Special = append(p.Special, o == [2]int{})
			}
			checkSpans(t, name, p)
		}
	}
}

// checkSpans checks the words of tokens.
func checkSpans(t *testing.T, name string, p units.Tokens) {
	t.Helper()
	next := 0
	joins := p.Continues()
	for _, s := range p.Words() {
		begin, end := len(p.Text), 0
		for _, j := range s.Tokens {
			if j != next {
				t.Fatalf("%s, %q: token %d comes where %d should", name, p.Text, j, next)
			}
			if next++; joins[j] && j == s.Tokens[0] {
				t.Errorf("%s, %q: token %d continues what span %q has not", name, p.Text, j, s.Text)
			}
			begin, end = min(begin, p.Offsets[j][0]), max(end, p.Offsets[j][1])
		}
		if s.Begin != begin || s.End != end {
			t.Errorf("%s, %q: %q has bytes %d to %d, its tokens %d to %d", name, p.Text, s.Text,
				s.Begin, s.End, begin, end)
		}
		bare := strings.TrimFunc(s.Word, func(r rune) bool { return !units.InWord(r) })
		if s.Word != "" && (bare == "" || !strings.Contains(p.Text[s.Begin:s.End], s.Word) ||
			bare != s.Word && bare != strings.TrimLeft(s.Word, "'’")) {
			t.Errorf("%s, %q: word %q", name, p.Text, s.Word)
		}
	}
	if next != len(p.Texts) {
		t.Errorf("%s, %q: %d of %d tokens are in spans", name, p.Text, next, len(p.Texts))
	}
}
