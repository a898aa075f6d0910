package tokenizer

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// The parts of the reference use different versions of Unicode: 8 for marks and punctuation, 9 for
// normal forms, 16 for the classes of regular expressions, 17 for case and digits; Go 1.26 uses
// version 15. The tables here are the differences, or the whole set where that is shorter. They
// were read from the reference code point by code point (testdata/record.py).

// runeSet is a set of code points: ranges in ascending order that do not touch.
type runeSet []runeRun

type runeRun struct{ first, last rune }

// newRuneSet reads ranges such as "41-5a 5f", in hexadecimal.
func newRuneSet(text string) runeSet {
	var s runeSet
	for _, f := range strings.Fields(text) {
		first, last, several := strings.Cut(f, "-")
		if !several {
			last = first
		}
		s = append(s, runeRun{hex(first), hex(last)})
	}
	return s
}

func hex(s string) rune {
	n, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		panic(err) // the tables are constants
	}
	return rune(n)
}

func (s runeSet) has(r rune) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].last >= r })
	return i < len(s) && s[i].first <= r
}

// lower returns r in lower case.
func lower(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < 0xc0 || r >= badByte:
		return r
	}
	if l, ok := newLower[r]; ok {
		return l
	}
	return unicode.ToLower(r)
}

// newLower maps capital letters that Go does not know yet, and U+0130, whose dot the function
// lowercase adds.
var newLower = func() map[rune]rune {
	m := map[rune]rune{
		'İ': 'i', 0xa7cb: 0x264, 0xa7cc: 0xa7cd, 0xa7ce: 0xa7cf, 0xa7d2: 0xa7d3, 0xa7d4: 0xa7d5,
		0xa7da: 0xa7db, 0xa7dc: 0x19b, 0x1c89: 0x1c8a,
	}
	for r := rune(0x10d50); r <= 0x10d65; r++ {
		m[r] = r + 0x20
	}
	for r := rune(0x16ea0); r <= 0x16eb8; r++ {
		m[r] = r + 0x1b
	}
	return m
}()

// isNumeric reports whether r is a number.
func isNumeric(r rune) bool {
	if r < 0x80 {
		return '0' <= r && r <= '9'
	}
	return r < badByte && (unicode.IsNumber(r) || unicode.Is(newNumbers, r) || numbers17.has(r))
}

// numbers17 are the numbers that Unicode 17 added to version 16.
var numbers17 = newRuneSet("" +
	"11de0-11de9 16ff4-16ff6")

// newDecomposed are the characters with a decomposition that were added after Unicode 9.
var newDecomposed = newRuneSet("" +
	"32ff a7f2-a7f4 ab69 10781-10785 10787-107b0 107b2-107ba 11938 1e030-1e06d 1f16c 1fbf0-1fbf9")

// marks are the combining marks of Unicode 9: category M.
var marks = newRuneSet("" +
	"300-36f 483-489 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 " +
	"6e7-6e8 6ea-6ed 711 730-74a 7a6-7b0 7eb-7f3 816-819 81b-823 825-827 829-82d 859-85b " +
	"8d4-8e1 8e3-903 93a-93c 93e-94f 951-957 962-963 981-983 9bc 9be-9c4 9c7-9c8 9cb-9cd 9d7 " +
	"9e2-9e3 a01-a03 a3c a3e-a42 a47-a48 a4b-a4d a51 a70-a71 a75 a81-a83 abc abe-ac5 ac7-ac9 " +
	"acb-acd ae2-ae3 b01-b03 b3c b3e-b44 b47-b48 b4b-b4d b56-b57 b62-b63 b82 bbe-bc2 bc6-bc8 " +
	"bca-bcd bd7 c00-c03 c3e-c44 c46-c48 c4a-c4d c55-c56 c62-c63 c81-c83 cbc cbe-cc4 cc6-cc8 " +
	"cca-ccd cd5-cd6 ce2-ce3 d01-d03 d3e-d44 d46-d48 d4a-d4d d57 d62-d63 d82-d83 dca dcf-dd4 " +
	"dd6 dd8-ddf df2-df3 e31 e34-e3a e47-e4e eb1 eb4-eb9 ebb-ebc ec8-ecd f18-f19 f35 f37 f39 " +
	"f3e-f3f f71-f84 f86-f87 f8d-f97 f99-fbc fc6 102b-103e 1056-1059 105e-1060 1062-1064 " +
	"1067-106d 1071-1074 1082-108d 108f 109a-109d 135d-135f 1712-1714 1732-1734 1752-1753 " +
	"1772-1773 17b4-17d3 17dd 180b-180d 1885-1886 18a9 1920-192b 1930-193b 1a17-1a1b 1a55-1a5e " +
	"1a60-1a7c 1a7f 1ab0-1abe 1b00-1b04 1b34-1b44 1b6b-1b73 1b80-1b82 1ba1-1bad 1be6-1bf3 " +
	"1c24-1c37 1cd0-1cd2 1cd4-1ce8 1ced 1cf2-1cf4 1cf8-1cf9 1dc0-1df5 1dfb-1dff 20d0-20f0 " +
	"2cef-2cf1 2d7f 2de0-2dff 302a-302f 3099-309a a66f-a672 a674-a67d a69e-a69f a6f0-a6f1 a802 " +
	"a806 a80b a823-a827 a880-a881 a8b4-a8c5 a8e0-a8f1 a926-a92d a947-a953 a980-a983 a9b3-a9c0 " +
	"a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe-aabf aac1 aaeb-aaef " +
	"aaf5-aaf6 abe3-abea abec-abed fb1e fe00-fe0f fe20-fe2f 101fd 102e0 10376-1037a 10a01-10a03 " +
	"10a05-10a06 10a0c-10a0f 10a38-10a3a 10a3f 10ae5-10ae6 11000-11002 11038-11046 1107f-11082 " +
	"110b0-110ba 11100-11102 11127-11134 11173 11180-11182 111b3-111c0 111ca-111cc 1122c-11237 " +
	"1123e 112df-112ea 11300-11303 1133c 1133e-11344 11347-11348 1134b-1134d 11357 11362-11363 " +
	"11366-1136c 11370-11374 11435-11446 114b0-114c3 115af-115b5 115b8-115c0 115dc-115dd " +
	"11630-11640 116ab-116b7 1171d-1172b 11c2f-11c36 11c38-11c3f 11c92-11ca7 11ca9-11cb6 " +
	"16af0-16af4 16b30-16b36 16f51-16f7e 16f8f-16f92 1bc9d-1bc9e 1d165-1d169 1d16d-1d172 " +
	"1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 1da84 " +
	"1da9b-1da9f 1daa1-1daaf 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a " +
	"1e8d0-1e8d6 1e944-1e94a e0100-e01ef")

// accents are the characters that BertNormalizer strips as accents: category Mn of Unicode 8.
var accents = newRuneSet("" +
	"300-36f 483-487 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 " +
	"6e7-6e8 6ea-6ed 711 730-74a 7a6-7b0 7eb-7f3 816-819 81b-823 825-827 829-82d 859-85b " +
	"8e3-902 93a 93c 941-948 94d 951-957 962-963 981 9bc 9c1-9c4 9cd 9e2-9e3 a01-a02 a3c " +
	"a41-a42 a47-a48 a4b-a4d a51 a70-a71 a75 a81-a82 abc ac1-ac5 ac7-ac8 acd ae2-ae3 b01 b3c " +
	"b3f b41-b44 b4d b56 b62-b63 b82 bc0 bcd c00 c3e-c40 c46-c48 c4a-c4d c55-c56 c62-c63 c81 " +
	"cbc cbf cc6 ccc-ccd ce2-ce3 d01 d41-d44 d4d d62-d63 dca dd2-dd4 dd6 e31 e34-e3a e47-e4e " +
	"eb1 eb4-eb9 ebb-ebc ec8-ecd f18-f19 f35 f37 f39 f71-f7e f80-f84 f86-f87 f8d-f97 f99-fbc " +
	"fc6 102d-1030 1032-1037 1039-103a 103d-103e 1058-1059 105e-1060 1071-1074 1082 1085-1086 " +
	"108d 109d 135d-135f 1712-1714 1732-1734 1752-1753 1772-1773 17b4-17b5 17b7-17bd 17c6 " +
	"17c9-17d3 17dd 180b-180d 18a9 1920-1922 1927-1928 1932 1939-193b 1a17-1a18 1a1b 1a56 " +
	"1a58-1a5e 1a60 1a62 1a65-1a6c 1a73-1a7c 1a7f 1ab0-1abd 1b00-1b03 1b34 1b36-1b3a 1b3c 1b42 " +
	"1b6b-1b73 1b80-1b81 1ba2-1ba5 1ba8-1ba9 1bab-1bad 1be6 1be8-1be9 1bed 1bef-1bf1 1c2c-1c33 " +
	"1c36-1c37 1cd0-1cd2 1cd4-1ce0 1ce2-1ce8 1ced 1cf4 1cf8-1cf9 1dc0-1df5 1dfc-1dff 20d0-20dc " +
	"20e1 20e5-20f0 2cef-2cf1 2d7f 2de0-2dff 302a-302d 3099-309a a66f a674-a67d a69e-a69f " +
	"a6f0-a6f1 a802 a806 a80b a825-a826 a8c4 a8e0-a8f1 a926-a92d a947-a951 a980-a982 a9b3 " +
	"a9b6-a9b9 a9bc a9e5 aa29-aa2e aa31-aa32 aa35-aa36 aa43 aa4c aa7c aab0 aab2-aab4 aab7-aab8 " +
	"aabe-aabf aac1 aaec-aaed aaf6 abe5 abe8 abed fb1e fe00-fe0f fe20-fe2f 101fd 102e0 " +
	"10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f 10a38-10a3a 10a3f 10ae5-10ae6 11001 " +
	"11038-11046 1107f-11081 110b3-110b6 110b9-110ba 11100-11102 11127-1112b 1112d-11134 11173 " +
	"11180-11181 111b6-111be 111ca-111cc 1122f-11231 11234 11236-11237 112df 112e3-112ea " +
	"11300-11301 1133c 11340 11366-1136c 11370-11374 114b3-114b8 114ba 114bf-114c0 114c2-114c3 " +
	"115b2-115b5 115bc-115bd 115bf-115c0 115dc-115dd 11633-1163a 1163d 1163f-11640 116ab 116ad " +
	"116b0-116b5 116b7 1171d-1171f 11722-11725 11727-1172b 16af0-16af4 16b30-16b36 16f8f-16f92 " +
	"1bc9d-1bc9e 1d167-1d169 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244 1da00-1da36 " +
	"1da3b-1da6c 1da75 1da84 1da9b-1da9f 1daa1-1daaf 1e8d0-1e8d6 e0100-e01ef")

// controls are the characters that BertNormalizer drops: categories Cc, Cf, Co and U+FFFD, without
// tab and line breaks.
var controls = newRuneSet("" +
	"0-8 b-c e-1f 7f-9f ad 600-605 61c 6dd 70f 180e 200b-200f 202a-202e 2060-2064 2066-206f " +
	"e000-f8ff feff fff9-fffb fffd 110bd 1bca0-1bca3 1d173-1d17a e0001 e0020-e007f f0000-ffffd " +
	"100000-10fffd")

// punctuation is what BertPreTokenizer and Punctuation treat as punctuation: category P of Unicode
// 8 and all of ASCII.
var punctuation = newRuneSet("" +
	"21-2f 3a-40 5b-60 7b-7e a1 a7 ab b6-b7 bb bf 37e 387 55a-55f 589-58a 5be 5c0 5c3 5c6 " +
	"5f3-5f4 609-60a 60c-60d 61b 61e-61f 66a-66d 6d4 700-70d 7f7-7f9 830-83e 85e 964-965 970 " +
	"af0 df4 e4f e5a-e5b f04-f12 f14 f3a-f3d f85 fd0-fd4 fd9-fda 104a-104f 10fb 1360-1368 1400 " +
	"166d-166e 169b-169c 16eb-16ed 1735-1736 17d4-17d6 17d8-17da 1800-180a 1944-1945 1a1e-1a1f " +
	"1aa0-1aa6 1aa8-1aad 1b5a-1b60 1bfc-1bff 1c3b-1c3f 1c7e-1c7f 1cc0-1cc7 1cd3 2010-2027 " +
	"2030-2043 2045-2051 2053-205e 207d-207e 208d-208e 2308-230b 2329-232a 2768-2775 27c5-27c6 " +
	"27e6-27ef 2983-2998 29d8-29db 29fc-29fd 2cf9-2cfc 2cfe-2cff 2d70 2e00-2e2e 2e30-2e42 " +
	"3001-3003 3008-3011 3014-301f 3030 303d 30a0 30fb a4fe-a4ff a60d-a60f a673 a67e a6f2-a6f7 " +
	"a874-a877 a8ce-a8cf a8f8-a8fa a8fc a92e-a92f a95f a9c1-a9cd a9de-a9df aa5c-aa5f aade-aadf " +
	"aaf0-aaf1 abeb fd3e-fd3f fe10-fe19 fe30-fe52 fe54-fe61 fe63 fe68 fe6a-fe6b ff01-ff03 " +
	"ff05-ff0a ff0c-ff0f ff1a-ff1b ff1f-ff20 ff3b-ff3d ff3f ff5b ff5d ff5f-ff65 10100-10102 " +
	"1039f 103d0 1056f 10857 1091f 1093f 10a50-10a58 10a7f 10af0-10af6 10b39-10b3f 10b99-10b9c " +
	"11047-1104d 110bb-110bc 110be-110c1 11140-11143 11174-11175 111c5-111c9 111cd 111db " +
	"111dd-111df 11238-1123d 112a9 114c6 115c1-115d7 11641-11643 1173c-1173e 12470-12474 " +
	"16a6e-16a6f 16af5 16b37-16b3b 16b44 1bc9f 1da87-1da8b")

// newInClass are the members of each class of regular expressions that Go does not know yet.
var newInClass = map[string]string{
	"Arabic": "" +
		"897 10ec2-10ec4 10efc",
	"Cc": "",
	"Cf": "",
	"Cyrillic": "" +
		"1c89-1c8a",
	"Devanagari": "",
	"Greek":      "",
	"Han": "" +
		"2ebf0-2ee5d",
	"Hangul":   "",
	"Hebrew":   "",
	"Hiragana": "",
	"Katakana": "",
	"L": "" +
		"1c89-1c8a a7cb-a7cd a7da-a7dc 105c0-105f3 10d4a-10d65 10d6f-10d85 10ec2-10ec4 " +
		"11380-11389 1138b 1138e 11390-113b5 113b7 113d1 113d3 11bc0-11be0 13460-143fa " +
		"16100-1611d 16d40-16d6c 18cff 1e5d0-1e5ed 1e5f0 2ebf0-2ee5d",
	"Latin": "" +
		"a7cb-a7cd a7da-a7dc",
	"Ll": "" +
		"1c8a a7cd a7db 10d70-10d85",
	"Lm": "" +
		"10d4e 10d6f 16d40-16d42 16d6b-16d6c",
	"Lo": "" +
		"105c0-105f3 10d4a-10d4d 10d4f 10ec2-10ec4 11380-11389 1138b 1138e 11390-113b5 113b7 " +
		"113d1 113d3 11bc0-11be0 13460-143fa 16100-1611d 16d43-16d6a 18cff 1e5d0-1e5ed 1e5f0 " +
		"2ebf0-2ee5d",
	"Lt": "",
	"Lu": "" +
		"1c89 a7cb-a7cc a7da a7dc 10d50-10d65",
	"M": "" +
		"897 10d69-10d6d 10efc 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 " +
		"113e1-113e2 11f5a 1611e-1612f 1e5ee-1e5ef",
	"Mc": "" +
		"113b8-113ba 113c2 113c5 113c7-113ca 113cc-113cd 113cf 1171e 1612a-1612c",
	"Me": "",
	"Mn": "" +
		"897 10d69-10d6d 10efc 113bb-113c0 113ce 113d0 113d2 113e1-113e2 11f5a 1611e-16129 " +
		"1612d-1612f 1e5ee-1e5ef",
	"N": "" +
		"10d40-10d49 116d0-116e3 11bf0-11bf9 16130-16139 16d70-16d79 1ccf0-1ccf9 1e5f1-1e5fa",
	"Nd": "" +
		"10d40-10d49 116d0-116e3 11bf0-11bf9 16130-16139 16d70-16d79 1ccf0-1ccf9 1e5f1-1e5fa",
	"Nl": "",
	"No": "",
	"P": "" +
		"1b4e-1b4f 1b7f 10d6e 113d4-113d5 113d7-113d8 11be1 16d6d-16d6f 1e5ff",
	"Pc": "",
	"Pd": "" +
		"10d6e",
	"Pe": "",
	"Pf": "",
	"Pi": "",
	"Po": "" +
		"1b4e-1b4f 1b7f 113d4-113d5 113d7-113d8 11be1 16d6d-16d6f 1e5ff",
	"Ps": "",
	"S": "" +
		"2427-2429 2ffc-2fff 31e4-31e5 31ef 10d8e-10d8f 1cc00-1ccef 1cd00-1ceb3 1f8b2-1f8bb " +
		"1f8c0-1f8c1 1fa89 1fa8f 1fabe 1fac6 1fadc 1fadf 1fae9 1fbcb-1fbef",
	"Sc": "",
	"Sk": "",
	"Sm": "" +
		"10d8e-10d8f",
	"So": "" +
		"2427-2429 2ffc-2fff 31e4-31e5 31ef 1cc00-1ccef 1cd00-1ceb3 1f8b2-1f8bb 1f8c0-1f8c1 " +
		"1fa89 1fa8f 1fabe 1fac6 1fadc 1fadf 1fae9 1fbcb-1fbef",
	"Thai": "",
	"Z":    "",
	"Zl":   "",
	"Zp":   "",
	"Zs":   "",
}
